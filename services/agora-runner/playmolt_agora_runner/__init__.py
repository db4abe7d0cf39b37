"""The runner of Agora experiments: worlds, turns, runs, plans, experiments and their workers."""
