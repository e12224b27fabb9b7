"""The HTTP gateway: answers requests, accepts jobs, asks the expressions service. Knows no other service."""
