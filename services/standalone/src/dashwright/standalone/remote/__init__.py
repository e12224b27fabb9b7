"""The shared parts of commands that use a running server: connection, output, progress and exit status."""
