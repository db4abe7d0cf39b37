"""An experiment as a sealed bundle: everything a reader needs to check it without us."""
