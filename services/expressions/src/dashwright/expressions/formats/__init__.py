"""Encoding of frames as JSON and Arrow streams, reading of frames, and the bodies of responses."""
