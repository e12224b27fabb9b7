"""Benchmarks of pictures of dashboards."""
