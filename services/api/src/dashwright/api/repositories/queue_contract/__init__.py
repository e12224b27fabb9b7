"""The AsyncAPI document of the queue: submissions, replies and refused submissions. Its schemas come from the models."""
