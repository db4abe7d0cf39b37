"""The laboratory of a running platform: a server that has each job done by a process of its own."""
