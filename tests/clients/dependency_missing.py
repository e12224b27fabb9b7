"""The error of a client run without one of its external dependencies."""


class DependencyMissing(Exception):
    """An external dependency that is not available; the message names it and says how to get it."""
