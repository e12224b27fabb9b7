"""Data sources, with one package for each type. A data source runs queries and returns frames."""
