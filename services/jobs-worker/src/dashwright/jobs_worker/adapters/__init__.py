"""I/O behind the ports: directories, git, hosts, the store, YAML. Imported by the composition root only."""
