"""RPC clients of the workers: repositories, their health, pictures and validation of panels; and the writer of queued syncs."""
