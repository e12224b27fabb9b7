"""Matchers: conditions on fields, frames and values, as overrides and transformations have them.

``fields``, ``frames`` and ``cells`` have a registry each; a matcher is one function and one entry.
"""
