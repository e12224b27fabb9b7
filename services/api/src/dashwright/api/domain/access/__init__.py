"""Decisions about permissions, pure: what roles may do, which grants there can be, what a caller is shown and may hand on."""

from dashwright.api.domain.access.roles import permissions_of, queue_identity

__all__ = ["permissions_of", "queue_identity"]
