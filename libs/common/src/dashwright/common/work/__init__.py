"""Execution of jobs in all workers: a job is claimed under a lease, run by the runner of its action, and finished."""
