"""Pure decisions about permissions: roles, grants, access rules, and the rights that a caller may give to others."""

from dashwright.api.domain.access.roles import permissions_of, queue_identity

__all__ = ["permissions_of", "queue_identity"]
