"""Bodies of requests, parsed into queries and expressions that can run, with every fault of their shape."""
