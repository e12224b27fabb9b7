"""``dashwright jobs``: the jobs of a server, asked for over HTTP."""
