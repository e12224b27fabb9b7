"""Data sources of ordinary queries: one package for each type, each of which returns frames."""
