"""The resource API over the registry of kinds, by Kubernetes conventions.

Modules here use only the description of a kind in ``common.kinds``, and do not depend on a single kind.
"""
