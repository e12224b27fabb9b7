"""``dashwright dead-letters``: the dead letters of a server, over HTTP."""
