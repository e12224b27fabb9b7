"""What a run of the client suites cannot do without, and lacks."""


class Missing(Exception):
    """Something from outside is not there; the message names it and says how to get it."""
