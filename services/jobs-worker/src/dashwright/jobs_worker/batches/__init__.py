"""Batches: their items are submitted as jobs, and their status follows the jobs."""
