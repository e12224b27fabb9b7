"""Routes of the classic API, a module for each area."""
