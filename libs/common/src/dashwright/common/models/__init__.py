"""Shapes of the interface, one module for each section of the specification: pydantic models without behaviour or I/O.

Field names on the wire are the interface's own (camelCase) by alias; a missing field with a default takes it, null is as missing.
"""
