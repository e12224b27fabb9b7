"""Models of the API, one module for each section of the specification: pydantic models without behaviour or I/O.

The aliases of the fields are their names in JSON, in camel case. A missing or null field has its default, if there is one.
"""
