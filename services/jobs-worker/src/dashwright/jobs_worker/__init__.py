"""The worker that runs jobs: it reads repositories, plans the changes and writes them in one transaction. It imports no other service."""
