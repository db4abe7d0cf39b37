"""The folder of a plan: custom worlds, personas, texts, events and measures."""
