"""A complete stack at a real broker."""

from tests.acceptance.conftest import shared_stack, user

__all__ = ["shared_stack", "user"]
