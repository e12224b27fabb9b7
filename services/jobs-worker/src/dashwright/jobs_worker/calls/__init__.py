"""The calls of the gateway that a client waits for."""
