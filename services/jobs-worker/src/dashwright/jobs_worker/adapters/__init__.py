"""I/O behind the ports: directories, git, hosts, the store. Imported by the composition root only."""
