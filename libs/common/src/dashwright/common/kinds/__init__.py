"""Registry of resource kinds as data, with the admission rules of each kind. Pure; used by the gateway and the workers.

A kind is added by describing it here: routes, discovery, storage and permissions follow from the description.
"""
