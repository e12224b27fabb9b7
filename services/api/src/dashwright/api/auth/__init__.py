"""Authentication: passwords, tokens, keys, the login throttle and the identity cache."""
