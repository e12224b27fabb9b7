"""The schema, as plain SQL files ``NNNN_name.sql``, each run once, in order, in a transaction of its own. Forward only.

A file that was released is never changed: a correction is a new file.
"""
