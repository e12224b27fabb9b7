"""Pydantic models of requests and responses that only the gateway uses."""
