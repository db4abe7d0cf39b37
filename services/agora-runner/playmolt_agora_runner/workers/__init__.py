"""The runner: what fulfils the effects of experiments and runs."""
