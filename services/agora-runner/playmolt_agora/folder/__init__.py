"""The folder of a plan: worlds, personas, texts, events and measures of the researcher's own."""
