"""A complete stack at a real broker."""

from tests.acceptance.conftest import shared, user

__all__ = ["shared", "user"]
