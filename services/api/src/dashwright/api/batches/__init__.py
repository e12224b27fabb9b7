"""Batches: their items are listed, cancelled and retried. The jobs worker submits the items as jobs."""
