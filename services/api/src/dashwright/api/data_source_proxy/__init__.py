"""The proxy to the HTTP APIs of data sources."""
