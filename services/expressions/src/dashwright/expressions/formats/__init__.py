"""Frames as JSON and Arrow streams, and the bodies of responses. Nothing here knows a request."""
