"""What happens to objects and jobs, heard by this gateway as it happens."""
