"""The worker that runs jobs: reads repositories, plans what changes, writes it at once. Knows no other service."""
