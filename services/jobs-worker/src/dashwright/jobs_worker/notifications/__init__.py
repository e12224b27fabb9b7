"""Delivery of notifications about batches and repositories."""
