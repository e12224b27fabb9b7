"""All services in one process over an embedded database, and the command line for people. Nothing imports it."""
