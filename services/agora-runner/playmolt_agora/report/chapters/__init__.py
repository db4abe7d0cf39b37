"""The chapters of a report that its tables and figures stand in."""
