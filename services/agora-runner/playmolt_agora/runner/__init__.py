"""The runner: what fulfils the wishes of experiments and runs."""
