"""Subresources of objects, a module each: the OpenAPI operation and the handler."""
