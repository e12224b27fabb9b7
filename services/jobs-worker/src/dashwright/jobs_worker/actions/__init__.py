"""The use cases of jobs, one module each, over ports only."""
