"""Migrations of one subject each."""
