"""Custom measures: their declarations, and the process that runs each."""
