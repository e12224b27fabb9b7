"""RPC clients of the workers: repositories, pictures, validation of panels and health of repositories."""
