"""Frames as JSON and Arrow streams, and the bodies of responses. Knows no request."""
