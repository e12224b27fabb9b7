"""``dashwright jobs``: the jobs of a server, over HTTP."""
