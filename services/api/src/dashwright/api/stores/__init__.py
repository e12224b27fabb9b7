"""Stores of rows that only the gateway needs. The SQL of each is in the file of the same name next to it."""
