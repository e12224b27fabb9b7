"""Change streams of objects and jobs: what watches wait for."""
