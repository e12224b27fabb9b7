"""Decisions about permissions, pure: what roles may do, which grants there can be, what a caller is shown and may hand on."""

from dashwright.api.domain.access.roles import EVALUATING, permissions_of, queue_identity

__all__ = ["EVALUATING", "permissions_of", "queue_identity"]
