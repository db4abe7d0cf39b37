"""Agora experiments: worlds, prompts, plans, measures."""
