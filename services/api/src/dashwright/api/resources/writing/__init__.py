"""Writes of objects, from the object in a request to its rows, by the same rules for every API."""
