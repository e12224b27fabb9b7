"""Chores that keep the system whole while nobody asks for anything, one a file. Each may run in several workers at once."""
