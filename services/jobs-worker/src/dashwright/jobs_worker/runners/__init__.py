"""What runs the jobs, one module an action: each loads the repository, runs the action over the adapters, answers what came of it."""
