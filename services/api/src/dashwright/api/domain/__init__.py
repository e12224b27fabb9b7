"""Decisions, pure: what a caller may do to what. No I/O, no clock, no framework."""
