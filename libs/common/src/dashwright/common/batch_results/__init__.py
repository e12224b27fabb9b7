"""Results of batches as lines of NDJSON, from the database and from object storage."""
