"""The resource API over the registry of kinds, by Kubernetes conventions.

``common.kinds`` describes what a kind is and may do. Modules here know a kind by its description only.
"""
