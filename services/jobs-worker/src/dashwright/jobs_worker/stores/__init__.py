"""Statements over tables that only the jobs worker uses."""
