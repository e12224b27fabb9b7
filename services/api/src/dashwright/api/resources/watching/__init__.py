"""Watches of the resource API: what a client asks for, which changes it is told as what, and the lines it gets."""
