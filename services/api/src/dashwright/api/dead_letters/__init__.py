"""Dead letters: stored from the queue, and read, replayed and discarded by operators."""
