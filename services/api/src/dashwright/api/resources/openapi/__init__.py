"""The OpenAPI 3.0 documents of the resource API as Kubernetes clients read them, one for each version of a group.

``/openapi.json`` describes the whole API to people and code generators; these tell ``kubectl`` what it may send and what to explain.
"""
