"""The chapters of a report, with its tables and figures."""
