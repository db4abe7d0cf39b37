"""What an experiment came to: tables for other tools and one page for readers."""
