"""Benchmarks of the path of jobs: small jobs compared with other task queues, and a backlog of waiting jobs."""
