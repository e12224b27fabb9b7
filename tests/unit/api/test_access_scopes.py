"""Scopes of grants: which objects a grant covers, by which names it is stored, and who may assign it."""

from dataclasses import replace
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.api.domain.access import permissions_of, queue_identity
from dashwright.api.domain.access.assignment import may_assign, unassignable_grants
from dashwright.api.domain.access.metadata import ScopedType, access_control
from dashwright.api.domain.access.scopes import ACTIONS, Grant, canonical_grant, scopes_by_action, with_grants
from dashwright.common.errors import BadRequest
from dashwright.common.identity import CallerType, Identity, Role, covers

# Few parts, so that many random scopes cover each other; a star is special only as a complete last part.
PARTS = st.lists(st.sampled_from(["teams", "id", "*", "1", "12", "a*", ""]), min_size=1, max_size=4)
SCOPES = PARTS.map(":".join)


def holder(role: Role = Role.NONE, **scopes: set[str]) -> Identity:
    """Return a caller with the scopes of each action. The action ``teams:read`` is the keyword ``teams_read``."""
    permissions = {action.replace("_", ":"): frozenset(granted) for action, granted in scopes.items()}
    return Identity(uid="user:1", login="x", org_id=1, role=role, permissions=permissions)


@given(SCOPES, SCOPES)
def test_a_grant_covers_its_scope(granted: str, scope: str) -> None:
    """A scope covers an equal scope. With a star as its last part, it covers every scope that starts with its other parts."""
    granted_parts, parts = granted.split(":"), scope.split(":")
    *prefix, last = granted_parts
    matches_prefix = last == "*" and (not prefix or (len(parts) > len(prefix) and parts[: len(prefix)] == prefix))
    assert covers(granted, scope) == (granted_parts == parts or matches_prefix)


@given(st.sets(SCOPES, max_size=5), SCOPES)
def test_an_identity_may_do_what_any_grant_covers(granted: set[str], scope: str) -> None:
    """Grants add permissions and never remove any; an action without a grant is not allowed."""
    identity = holder(teams_read=granted)
    assert identity.may("teams:read", scope) == any(covers(granted_scope, scope) for granted_scope in granted)
    assert identity.has_action("teams:read") == bool(granted)
    assert not identity.may("teams:write", scope)
    assert not identity.has_action("teams:write")


@given(st.sets(st.sampled_from(["*", "teams:*", "teams:id:*", "teams:id:1", "teams:id:23", "teams:id:007", "teams:uid:4", "team:id:5"])))
def test_the_numbers_of_a_list_are_those_that_may_be_read_one_by_one(granted: set[str]) -> None:
    """A list that is filtered by the store has exactly the objects that single requests may read."""
    identity = holder(teams_read=granted)
    numbers = identity.ids("teams:read", "teams:id:")
    # Numbers that the scopes grant or resemble: 4 only by uid, 5 of another prefix, 7 with zeros, 2 and 230 as parts of 23.
    for number in (0, 1, 2, 4, 5, 7, 23, 230):
        # None means that every number is listed.
        is_listed = numbers is None or number in numbers
        assert is_listed == identity.may("teams:read", f"teams:id:{number}")


@pytest.mark.parametrize(
    ("action", "scope", "grant"),
    [
        # Actions and scopes of Grafana that have another canonical name. An empty scope is a star.
        ("users.quotas:read", "global.users:id:1", ("users.quotas:list", "global.users:1")),
        ("users.quotas:write", "global.users:id:*", ("users.quotas:update", "global.users:*")),
        ("orgs.quotas:read", "orgs:id:5", ("orgs.quotas:read", "org:id:5")),
        ("orgs:read", "orgs:*", ("orgs:read", "org:*")),
        ("orgs:read", "org:id:*", ("orgs:read", "org:*")),
        ("orgs:create", "", ("orgs:create", "*")),
        ("users.password:update", "*", ("users.password:write", "*")),
        ("users.permissions:update", "global.users:3", ("users.permissions:write", "global.users:3")),
        ("users.logout", "*", ("users:logout", "*")),
        # The largest id: 2**63 - 1.
        ("teams:read", "teams:id:9223372036854775807", ("teams:read", "teams:id:9223372036854775807")),
        # Objects in folders: their own scopes and those of folders.
        ("dashboards:read", "*", ("dashboards:read", "*")),
        ("dashboards:read", "dashboards:uid:*", ("dashboards:read", "dashboards:*")),
        ("dashboards:write", "dashboards:uid:a_B-9", ("dashboards:write", "dashboards:uid:a_B-9")),
        ("dashboards:create", "folders:uid:general", ("dashboards:create", "folders:uid:general")),
        ("dashboards.permissions:write", "folders:uid:*", ("dashboards.permissions:write", "folders:*")),
        ("folders:delete", "folders:uid:x", ("folders:delete", "folders:uid:x")),
        ("library.panels:read", "library.panels:uid:x", ("library.panels:read", "library.panels:uid:x")),
        # Annotations of a dashboard have the scopes of the dashboard.
        ("annotations:read", "dashboards:uid:x", ("annotations:read", "dashboards:uid:x")),
        ("annotations:write", "folders:uid:*", ("annotations:write", "folders:*")),
        ("annotations:create", "annotations:type:organization", ("annotations:create", "annotations:type:organization")),
        ("annotations:create", "annotations:type:dashboard", ("annotations:create", "dashboards:*")),
        # Data sources have a uid, an id and a name.
        ("datasources:query", "datasources:uid:*", ("datasources:query", "datasources:*")),
        ("datasources:query", "datasources:name:*", ("datasources:query", "datasources:*")),
        ("datasources:read", "datasources:uid:a_B-9", ("datasources:read", "datasources:uid:a_B-9")),
        ("datasources:read", "datasources:id:7", ("datasources:read", "datasources:id:7")),
        ("datasources:write", "datasources:name:A: b*", ("datasources:write", "datasources:name:A: b*")),
    ],
)
def test_a_grant_is_stored_by_its_canonical_names(action: str, scope: str, grant: tuple[str, str]) -> None:
    """Older names are stored as canonical names, and canonical names are unchanged."""
    assert canonical_grant(action, scope) == grant
    assert canonical_grant(*grant) == grant


@pytest.mark.parametrize(
    ("action", "scope", "error_part"),
    [
        # Unknown actions.
        ("perm:orgs:invalid", "*", "perm:orgs:invalid"),
        ("*", "*", "'*'"),
        # Ids that are not between 1 and 2**63 - 1, and a scope of another type.
        ("teams:read", "teams:id:x", "teams:id:x"),
        ("teams:read", "teams:id:0", "teams:id:0"),
        ("teams:read", "teams:id:01", "teams:id:01"),
        ("teams:read", "teams:id:9223372036854775808", "9223372036854775808"),
        ("teams:read", "teams:id:1*", "teams:id:1*"),
        ("teams:read", "serviceaccounts:id:1", "serviceaccounts:id:1"),
        ("teams:read", "teams:id:" + "1" * 5000, "111"),
        # The error lists the scopes that are possible for the action.
        ("dashboards:read", "dashboards:uid:", "dashboards:uid:UID, folders:*, folders:uid:UID"),
        ("folders:read", "dashboards:uid:x", "folders:uid:UID"),
        ("library.panels:read", "dashboards:uid:x", "library.panels:uid:UID"),
        ("annotations:read", "annotations:type:other", "annotations:type:organization"),
        ("dashboards:read", "annotations:type:organization", "dashboards:uid:UID"),
        ("datasources:read", "datasources:uid:", "datasources:uid:"),
        ("datasources:read", "datasources:uid:a b", "datasources:uid:a b"),
        ("datasources:read", "datasources:uid:" + "x" * 41, "xxx"),
        ("datasources:read", "datasources:id:x", "datasources:uid:UID"),
        ("datasources:read", "datasources:name:", "datasources:name:"),
        ("datasources:read", "x", "datasources:uid:UID"),
        ("teams:read", "datasources:uid:x", "teams:id:N"),
    ],
)
def test_an_invalid_grant_is_refused_by_name(action: str, scope: str, error_part: str) -> None:
    """A grant of an unknown action, or on a scope that no object of the action has, is refused. The error names the action or the scope."""
    with pytest.raises(BadRequest) as refusal:
        canonical_grant(action, scope)
    assert error_part in refusal.value.message
    # A scope of any length is shortened in the message.
    assert len(refusal.value.message) < 500


def test_explicit_grants_add_to_a_role() -> None:
    """Explicit grants add permissions to those of a role, which are unchanged.

    Old names of actions and scopes are accepted, and unknown actions are ignored.
    """
    role = permissions_of(Role.VIEWER)
    rows = [("users.quotas:read", "global.users:id:7"), ("perm:orgs:invalid", "*"), ("dashboards:read", "*"), ("teams:read", "teams:id:1")]
    merged = with_grants(role, scopes_by_action(rows))
    assert merged["users.quotas:list"] == {"global.users:7"}
    assert merged["teams:read"] == {"teams:id:1"}
    assert set(merged) - set(role) == {"users.quotas:list", "teams:read"}
    assert with_grants(role, scopes_by_action([("nothing:known", "*")])) is role
    # The permissions of a role are shared, so they must be immutable.
    assert isinstance(role, MappingProxyType)


@pytest.mark.parametrize("subject", ScopedType)
def test_access_metadata_has_allowed_actions(subject: ScopedType) -> None:
    """The access metadata of an object lists the actions that the caller may do, and is None if the caller may do nothing."""
    server_admin = Identity(uid="user:1", login="x", org_id=1, role=Role.NONE, permissions=permissions_of(Role.NONE, is_server_admin=True))
    assert access_control(server_admin, subject, 5) == dict.fromkeys(subject.actions, True)
    first = subject.actions[0]
    partial = Identity(uid="user:1", login="x", org_id=1, role=Role.NONE, permissions={first: frozenset({f"{subject.prefix}5"})})
    assert access_control(partial, subject, 5) == {first: True}
    assert access_control(partial, subject, 6) is None
    assert set(subject.actions) <= ACTIONS
    assert canonical_grant(first, f"{subject.prefix}5") == (first, f"{subject.prefix}5")


def test_callers_assign_at_most_their_own_rights() -> None:
    """Callers can assign roles up to their own, and grants on scopes that their own grants cover completely.

    Server admins can assign any role.
    """
    for own_role in Role:
        assignable = [role for role in Role if may_assign(holder(own_role), role)]
        assert assignable == list(Role)[: list(Role).index(own_role) + 1]
    assert may_assign(Identity(uid="user:1", login="x", org_id=1, role=Role.NONE, is_server_admin=True), Role.ADMIN)
    owner = holder(teams_read={"teams:id:1", "teams:id:2"})
    single_team, all_teams, other_action = (
        Grant("teams:read", "teams:id:1"),
        Grant("teams:read", "teams:*"),
        Grant("teams:write", "teams:id:1"),
    )
    assert unassignable_grants(owner, [single_team, all_teams, other_action]) == (all_teams, other_action)
    assert unassignable_grants(holder(teams_read={"teams:*"}), [single_team, all_teams]) == ()


def test_the_queue_is_not_a_user() -> None:
    """The identity of a message from the queue may submit jobs, also in batches, and nothing else. It is not a user."""
    queue = queue_identity(2)
    assert queue.kind == CallerType.QUEUE
    assert queue.user_id == 0
    assert set(queue.permissions) == {"jobs:create", "batches:create", "batches:write"}


def test_actions_limited_by_rules_are_granted_by_admins_only() -> None:
    """A caller who is not an Admin cannot grant the role's permissions for dashboards and folders, because rules may limit them.

    Explicit grants of the caller are not limited by rules, so the caller can grant them to others.
    """
    one_dashboard, all_dashboards = Grant("dashboards:read", "dashboards:uid:x"), Grant("dashboards:read", "*")
    grants = [one_dashboard, all_dashboards, Grant("datasources:query", "*")]
    admin = Identity(uid="user:1", login="x", org_id=1, role=Role.ADMIN, permissions=permissions_of(Role.ADMIN))
    editor = Identity(uid="user:1", login="x", org_id=1, role=Role.EDITOR, permissions=permissions_of(Role.EDITOR))
    granted = scopes_by_action([("dashboards:read", "dashboards:uid:x")])
    editor_with_grant = replace(editor, permissions=with_grants(editor.permissions, granted), granted=granted)
    assert unassignable_grants(admin, grants) == ()
    assert unassignable_grants(editor, grants) == (one_dashboard, all_dashboards)
    assert unassignable_grants(editor_with_grant, grants) == (all_dashboards,)
