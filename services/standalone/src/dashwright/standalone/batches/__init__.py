"""The commands on batches."""
