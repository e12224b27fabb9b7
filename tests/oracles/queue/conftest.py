"""Fixtures of a complete stack of services with a real broker, which are those of the acceptance tests."""

from tests.acceptance.conftest import shared_stack, user

__all__ = ["shared_stack", "user"]
