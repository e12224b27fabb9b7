"""Writing objects: from what a client wants of an object to its rows, by one set of rules behind every door."""
