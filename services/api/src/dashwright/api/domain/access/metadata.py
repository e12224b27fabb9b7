"""The member ``accessControl`` of an object: the actions that the caller may do on it."""

from enum import Enum

from dashwright.common.identity import Identity


class ScopedType(Enum):
    """A type of objects with ``accessControl``: the prefix of their scopes, and their actions in the order of the response."""

    API_KEY = ("apikeys:id:", ("apikeys:read", "apikeys:delete"))
    SERVICE_ACCOUNT = (
        "serviceaccounts:id:",
        (
            "serviceaccounts:read",
            "serviceaccounts:write",
            "serviceaccounts:delete",
            "serviceaccounts.permissions:read",
            "serviceaccounts.permissions:write",
        ),
    )
    DATA_SOURCE = (
        "datasources:uid:",
        ("datasources:read", "datasources:write", "datasources:delete", "datasources:query"),
    )
    TEAM = ("teams:id:", ("teams:read", "teams:write", "teams:delete", "teams.permissions:read", "teams.permissions:write"))
    USER = (
        "global.users:",
        (
            "users:read",
            "users:write",
            "users:delete",
            "users:enable",
            "users:disable",
            "users:logout",
            "users.password:write",
            "users.permissions:write",
            "users.quotas:list",
            "users.quotas:update",
        ),
    )
    MEMBER = ("users:id:", ("org.users:read", "org.users:write", "org.users:remove"))

    def __init__(self, prefix: str, actions: tuple[str, ...]) -> None:
        self.prefix = prefix
        self.actions = actions


def access_control(caller: Identity, scoped_type: ScopedType, id_or_uid: int | str) -> dict[str, bool] | None:
    """Return ``accessControl`` of the object with this id or uid, or None if the caller may do nothing with it.

    ``caller`` is the identity within the organization of the object.
    """
    scope = f"{scoped_type.prefix}{id_or_uid}"
    return {action: True for action in scoped_type.actions if caller.may(action, scope)} or None
