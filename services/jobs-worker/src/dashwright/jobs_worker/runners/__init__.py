"""The runners of jobs, one module each: a runner opens the adapters of a job and runs its action over them."""
