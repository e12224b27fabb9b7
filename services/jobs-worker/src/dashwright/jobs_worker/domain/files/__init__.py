"""What a file of a repository is to somebody who reads or writes it by its name, pure: rules, bytes, and what is told of it."""
