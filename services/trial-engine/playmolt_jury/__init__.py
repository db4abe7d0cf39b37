"""The AI jury: a person against five jurors whose verdict goes on a chain."""
