"""Benchmarks: each row compares the product with a bare reference, measured alternately in one run on one machine.

Goals are ratios; docs/explanation/performance.md explains them. Nothing here is part of the test suite.
"""
