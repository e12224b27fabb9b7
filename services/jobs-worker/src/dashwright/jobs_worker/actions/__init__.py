"""What a job does: use cases over ports only, one module an action."""
