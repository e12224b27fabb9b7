"""Running of jobs: claim under a lease, run, report, end. Every worker does it this way; runners bring what a job does."""
