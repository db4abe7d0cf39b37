"""Coding of free text: judges that are models, sheets that people fill in."""
