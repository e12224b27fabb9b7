"""Rows ↔ models, for what more than one service reads or writes. Functions take an open connection: the caller owns the transaction."""
