"""Permissions of the roles."""

from itertools import pairwise

import pytest

from dashwright.api.domain.access import permissions_of
from dashwright.common.identity import Identity, Role


def may(role: Role, action: str, *, is_server_admin: bool = False) -> bool:
    """Return whether a role permits an action on any object."""
    permissions = permissions_of(role, is_server_admin=is_server_admin)
    return Identity(uid="user:1", login="x", org_id=1, role=role, permissions=permissions).may(action, "any")


def test_a_higher_role_may_do_all_that_a_lower_one_may() -> None:
    """Each role has all permissions of the next lower one and more, and server admins have more than Admins."""
    for lower, higher in pairwise(Role):
        assert permissions_of(lower).keys() < permissions_of(higher).keys()
    assert permissions_of(Role.ADMIN).keys() < permissions_of(Role.NONE, is_server_admin=True).keys()


@pytest.mark.parametrize(
    ("action", "lowest"),
    [
        ("dashboards:read", Role.VIEWER),
        ("datasources:query", Role.VIEWER),
        ("dashboards:write", Role.EDITOR),
        ("folders:delete", Role.EDITOR),
        ("jobs:create", Role.EDITOR),
        ("repositories:write", Role.ADMIN),
        ("apikeys:create", Role.ADMIN),
        ("serviceaccounts:write", Role.ADMIN),
        ("orgs.quotas:read", Role.ADMIN),
        ("org.users:add", Role.ADMIN),
        ("orgs.quotas:write", None),
        ("orgs:create", None),
        ("users:read", None),
        ("users.quotas:update", None),
    ],
)
def test_an_action_needs_this_role(action: str, lowest: Role | None) -> None:
    """Each action needs the listed role or a higher one, and None means server admins only."""
    # The members of Role are in the order from the lowest role to the highest.
    order = list(Role)
    lowest_and_higher = [] if lowest is None else order[order.index(lowest) :]
    assert [role for role in order if may(role, action)] == lowest_and_higher
    assert may(Role.NONE, action, is_server_admin=True)
