"""The ``accessControl`` member of an object: which of its actions the caller may do on it."""

from enum import Enum

from dashwright.common.identity import Identity


class Subject(Enum):
    """What can carry the member: what stands before its number or uid in a scope, and the actions that are told, in their order."""

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


def access_control(caller: Identity, subject: Subject, key: int | str) -> dict[str, bool] | None:
    """The member for the object with that number or uid; None where the caller may do nothing with it.

    ``caller`` is they as the object's organization sees them.
    """
    scope = f"{subject.prefix}{key}"
    return {action: True for action in subject.actions if caller.may(action, scope)} or None
