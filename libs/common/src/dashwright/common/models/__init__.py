"""Pydantic models of requests, responses and messages that several services need, without behaviour or I/O.

The aliases of the fields are their names in JSON, in camel case. A missing or null field has its default, if there is one.
"""
