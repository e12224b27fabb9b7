"""The HTTP gateway: serves requests, accepts jobs, and calls the workers by RPC. Imports no other service."""
