"""The verbs of the resource API, a module each: the OpenAPI operation and the handler."""
