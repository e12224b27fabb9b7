"""Files that `docker compose` uses in addition to the images, and the programs that write them.

These are the accounts of the broker and the database, the settings, and the digests of base images.
"""
