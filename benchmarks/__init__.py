"""Benchmarks: each row measures the product beside a bare reference, in one run on one machine, in turns.

Goals are ratios; docs/explanation/performance.md says what they mean. Nothing here is part of the test suite.
"""
