"""Parsing of request bodies to queries and expressions, and validation with a list of all faults."""
