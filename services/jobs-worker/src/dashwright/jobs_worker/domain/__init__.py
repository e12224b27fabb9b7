"""What a job decides, pure: bytes to a resource, a tree and what is stored to a plan. No I/O, no time, no randomness."""
