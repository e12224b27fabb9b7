"""Registry of resource kinds as data, with the admission rules of each kind. Pure functions without I/O.

To add a kind, add its description: routes, discovery, storage and permissions follow from it.
"""
