"""The resource API over the registry of kinds, by Kubernetes conventions: reading, listing, creating and deleting objects.

What a kind is and may do is said in ``common.kinds``; nothing here knows one kind from another, except by its description.
"""
