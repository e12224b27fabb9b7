"""The registry of resource kinds as data, and each kind's admission rules: pure, obeyed by gateway and workers alike.

A kind is added by describing it here: routes, discovery, storage and permissions follow from the description.
"""
