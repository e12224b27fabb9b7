"""The decisions of jobs, pure: bytes to a resource, files and stored objects to a plan. No I/O, no clock, no randomness."""
