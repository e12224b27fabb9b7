"""Change streams of objects and jobs, which wake the watches of a gateway."""
