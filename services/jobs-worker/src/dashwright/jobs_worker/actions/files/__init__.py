"""Files of a repository read and written by name, over ports: looked at, changed in one commit, and stored from there."""
