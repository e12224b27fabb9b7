"""R1 to R10: whole requests over data sources, compared with plain programs on the same data."""
