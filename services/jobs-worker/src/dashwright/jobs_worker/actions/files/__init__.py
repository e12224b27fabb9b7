"""Reads and changes of single files of a repository, over ports only: a change becomes one commit and is then stored."""
