"""Taking up jobs: claim under a lease, run, report, end. Any worker that runs jobs does it this way; what a job does it brings itself."""
