"""Figures as files for print."""
