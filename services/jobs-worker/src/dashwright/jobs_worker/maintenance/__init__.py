"""Background work that keeps the system in order, one module each. Several workers may do the same work concurrently."""
