"""All services in one process over an embedded database, and the command line. Nothing imports it."""
