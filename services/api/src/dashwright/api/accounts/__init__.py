"""Use cases on those who hold rights: each checks what the rules say, changes rows in one transaction, and puts it on record there."""
