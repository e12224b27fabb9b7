"""Rules of repositories that need no I/O."""
