"""What could be better about a dashboard, by rules that look at its spec alone: nothing is asked, nothing is run."""
