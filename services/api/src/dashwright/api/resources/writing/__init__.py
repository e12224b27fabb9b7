"""Writes of objects, from the object that a client asks for to its rows, by the same rules at every entry point."""
