"""Questions of runs that travel in batches: who waits for one, and who submits it."""
