"""Error of a client run that lacks something from outside."""


class Missing(Exception):
    """An external dependency that is not available; the message names it and says how to get it."""
