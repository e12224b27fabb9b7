"""Permissions on folders and dashboards, which follow from roles, explicit grants, and access rules of objects and of folders above."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.api.domain.access import permissions_of
from dashwright.api.domain.access.object_scope import EVERYTHING, NOTHING
from dashwright.api.domain.access.scopes import scopes_by_action, with_grants
from dashwright.api.domain.access.tree import AccessTree, Level, Rule, Rules
from dashwright.api.domain.access.view import AccessView, require_permission
from dashwright.common.errors import Forbidden
from dashwright.common.identity import CallerType, Identity, Role
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, LIBRARY_PANEL, REPOSITORY

#: The kinds in folders.
KINDS = (DASHBOARD, FOLDER, LIBRARY_PANEL)


def caller(role: Role, *grants: tuple[str, str], user_id: int = 1, teams: tuple[int, ...] = (), **members: Any) -> Identity:
    """Return a caller with a role and with explicit grants, each an action and a scope. ``members`` are further fields of Identity."""
    granted = scopes_by_action(grants)
    permissions = with_grants(permissions_of(role), granted)
    return Identity(
        uid="user:1",
        login="vic",
        org_id=1,
        role=role,
        user_id=user_id,
        permissions=permissions,
        granted=granted,
        teams=frozenset(teams),
        **members,
    )


# Team 7 may edit b and its subfolder c. The empty list of rules closes the folder closed. Viewers may view its subfolder inner.
# Lost has a missing parent; round and circle contain each other. User 1 may administer the dashboard d, and Editors may edit it.
TREE = AccessTree(
    parents={"a": None, "b": "a", "c": "b", "closed": None, "inner": "closed", "lost": "gone", "round": "circle", "circle": "round"},
    rules_by_object={
        ("folders", "b"): [Rule(Level.EDIT, team_id=7)],
        ("folders", "closed"): [],
        ("folders", "inner"): [Rule(Level.VIEW, role=Role.VIEWER)],
        ("dashboards", "d"): [Rule(Level.ADMIN, user_id=1), Rule(Level.EDIT, role=Role.EDITOR)],
    },
)


@pytest.mark.parametrize(
    ("viewer", "kind", "name", "folder", "level"),
    [
        pytest.param(caller(Role.VIEWER), DASHBOARD, "x", None, Level.VIEW, id="viewer at the root"),
        pytest.param(caller(Role.EDITOR), DASHBOARD, "x", None, Level.EDIT, id="editor at the root"),
        pytest.param(caller(Role.NONE), DASHBOARD, "x", None, Level.NONE, id="no role at the root"),
        pytest.param(caller(Role.VIEWER), DASHBOARD, "x", "a", Level.VIEW, id="viewer in a folder without rules"),
        pytest.param(caller(Role.VIEWER), DASHBOARD, "x", "c", Level.VIEW, id="viewer in a folder of a team"),
        pytest.param(caller(Role.VIEWER, teams=(7,)), DASHBOARD, "x", "c", Level.EDIT, id="team below its folder"),
        pytest.param(caller(Role.NONE, teams=(7,)), FOLDER, "b", "a", Level.EDIT, id="team on its folder"),
        pytest.param(caller(Role.NONE, teams=(7,)), FOLDER, "a", None, Level.NONE, id="team above its folder"),
        pytest.param(caller(Role.EDITOR), FOLDER, "closed", None, Level.NONE, id="editor on a closed folder"),
        pytest.param(caller(Role.EDITOR), DASHBOARD, "x", "closed", Level.NONE, id="editor in a closed folder"),
        pytest.param(caller(Role.EDITOR), DASHBOARD, "x", "inner", Level.VIEW, id="rule below a closed folder"),
        pytest.param(caller(Role.ADMIN), FOLDER, "closed", None, Level.ADMIN, id="admin on a closed folder"),
        pytest.param(caller(Role.NONE, is_server_admin=True), DASHBOARD, "x", "closed", Level.ADMIN, id="server admin in a closed folder"),
        pytest.param(caller(Role.VIEWER), DASHBOARD, "d", None, Level.ADMIN, id="rule for a user"),
        pytest.param(caller(Role.VIEWER, user_id=2), DASHBOARD, "d", None, Level.NONE, id="rules replace the role at the root"),
        pytest.param(caller(Role.VIEWER, user_id=2), DASHBOARD, "d", "a", Level.VIEW, id="rules add to the role in folders"),
        pytest.param(caller(Role.EDITOR, user_id=0, kind=CallerType.API_KEY), DASHBOARD, "d", None, Level.EDIT, id="rule for a role"),
        pytest.param(caller(Role.VIEWER, user_id=0, kind=CallerType.API_KEY), DASHBOARD, "d", None, Level.NONE, id="key without a rule"),
        pytest.param(caller(Role.EDITOR), LIBRARY_PANEL, "d", None, Level.EDIT, id="rules of another kind"),
        pytest.param(caller(Role.EDITOR), LIBRARY_PANEL, "p", "closed", Level.NONE, id="another kind in a closed folder"),
        pytest.param(caller(Role.EDITOR), DASHBOARD, "x", "lost", Level.NONE, id="folder whose parent is missing"),
        pytest.param(caller(Role.EDITOR), DASHBOARD, "x", "unknown", Level.NONE, id="unknown folder"),
        pytest.param(caller(Role.EDITOR), DASHBOARD, "x", "round", Level.NONE, id="folder in a cycle"),
    ],
)
def test_the_highest_level_applies(viewer: Identity, kind: Kind, name: str, folder: str | None, level: Level) -> None:
    """The highest level of all rules applies. At the root, rules of an object replace the rights of the role.

    In folders, the rules of an object add to the rights that the role and the folders give. A rule for a role includes higher roles.
    """
    view = AccessView(viewer, TREE)
    assert view.level(kind, name, folder) == level
    for verb, needed in (("read", Level.VIEW), ("create", Level.EDIT), ("write", Level.EDIT), ("delete", Level.EDIT)):
        assert view.may(f"{kind.area}:{verb}", kind, name, folder) is (level >= needed)
    assert view.may(f"{kind.area}.permissions:write", kind, name, folder) is (level >= Level.ADMIN)


@pytest.mark.parametrize(
    ("scope", "kind", "name", "folder", "is_covered"),
    [
        pytest.param("dashboards:uid:x", DASHBOARD, "x", "closed", True, id="the object"),
        pytest.param("dashboards:uid:x", DASHBOARD, "y", "closed", False, id="another object"),
        pytest.param("folders:uid:closed", DASHBOARD, "y", "inner", True, id="a folder above"),
        pytest.param("folders:uid:inner", DASHBOARD, "y", "closed", False, id="a folder below"),
        pytest.param("folders:uid:general", DASHBOARD, "d", None, True, id="root, for an object at the root"),
        pytest.param("folders:uid:general", DASHBOARD, "d", "closed", False, id="root, for an object in a folder"),
        pytest.param("folders:*", DASHBOARD, "d", "closed", True, id="every folder"),
        pytest.param("dashboards:*", DASHBOARD, "d", "lost", True, id="every dashboard"),
        pytest.param("*", DASHBOARD, "d", "lost", True, id="everything"),
    ],
)
def test_an_explicit_grant_adds_its_action(scope: str, kind: Kind, name: str, folder: str | None, is_covered: bool) -> None:
    """A grant permits its action, and no other, on the objects that its scope covers, independent of the rules."""
    # User 2 has neither a role nor a rule, so only the grant can permit something.
    view = AccessView(caller(Role.NONE, ("dashboards:read", scope), user_id=2), TREE)
    assert view.may("dashboards:read", kind, name, folder) is is_covered
    assert view.scope(kind).includes(name, folder) is is_covered
    assert not view.may("dashboards:write", kind, name, folder)
    assert view.level(kind, name, folder) == Level.NONE


def test_permissions_alone_decide_outside_of_folders() -> None:
    """Only permissions decide on objects outside of folders, such as repositories, which have no access rules."""
    assert AccessView(caller(Role.EDITOR), TREE).scope(REPOSITORY) == EVERYTHING
    assert AccessView(caller(Role.VIEWER), TREE).scope(REPOSITORY) == NOTHING
    assert AccessView(caller(Role.EDITOR), TREE).may("repositories:read", REPOSITORY, "r", None)
    assert not AccessView(caller(Role.EDITOR), TREE).may("repositories:write", REPOSITORY, "r", None)


@pytest.mark.parametrize(
    ("viewer", "action", "is_permitted"),
    [
        pytest.param(caller(Role.VIEWER), "dashboards:read", True, id="role"),
        pytest.param(caller(Role.VIEWER, user_id=2), "dashboards:write", False, id="neither role nor rule"),
        pytest.param(caller(Role.VIEWER), "dashboards:write", True, id="rule for the user"),
        pytest.param(caller(Role.VIEWER), "folders:write", False, id="rule for others"),
        pytest.param(caller(Role.VIEWER, teams=(7,)), "folders:create", True, id="rule for a team"),
        pytest.param(caller(Role.VIEWER, teams=(7,)), "library.panels:delete", True, id="rule for a team covers each kind"),
        pytest.param(caller(Role.VIEWER), "dashboards.permissions:write", True, id="administration by a rule"),
        pytest.param(caller(Role.VIEWER), "folders.permissions:write", False, id="administration without a rule"),
        pytest.param(caller(Role.NONE, user_id=2), "dashboards:read", False, id="no role"),
        pytest.param(
            caller(Role.NONE, ("dashboards:read", "dashboards:uid:y"), user_id=2), "dashboards:read", True, id="grant for one object"
        ),
        pytest.param(caller(Role.ADMIN), "folders.permissions:write", True, id="admin"),
    ],
)
def test_a_right_on_any_object_passes_the_first_check(viewer: Identity, action: str, is_permitted: bool) -> None:
    """The first check of an action needs a role, a rule on some object or a grant. The object itself is checked afterwards."""
    assert AccessView(viewer, TREE).may_on_any(action) is is_permitted


def test_without_rules_the_role_decides() -> None:
    """Without rules, the role permits everything or nothing in all folders.

    With rules on any object, only Admins may still read everything.
    """
    bare = AccessTree({"a": None, "b": "a"})
    for viewer, scope in ((caller(Role.VIEWER), EVERYTHING), (caller(Role.NONE), NOTHING), (caller(Role.ADMIN), EVERYTHING)):
        view = AccessView(viewer, bare)
        assert {view.scope(kind) for kind in KINDS} == {scope}
    assert AccessView(caller(Role.VIEWER), TREE).scope(FOLDER) not in (EVERYTHING, NOTHING)
    assert AccessView(caller(Role.ADMIN), TREE).scope(FOLDER) == EVERYTHING


def test_a_refusal_names_object_caller_and_action() -> None:
    """The message of a refusal names the object, the caller and the action, and its details are those of Kubernetes."""
    with pytest.raises(Forbidden, match=r'^dashboards.dashboard.grafana.app "x" is forbidden: vic needs dashboards:write$') as refusal:
        require_permission(AccessView(caller(Role.VIEWER), TREE), "dashboards:write", DASHBOARD, "x", None, login="vic")
    assert refusal.value.details == {"name": "x", "group": "dashboard.grafana.app", "kind": "dashboards"}
    with pytest.raises(Forbidden, match=r"^folders.folder.grafana.app is forbidden: vic needs folders:create$"):
        require_permission(AccessView(caller(Role.VIEWER), TREE), "folders:create", FOLDER, "", None, login="vic")


# The strategies of the laws below: random callers, and random trees of these folders.
FOLDERS = [f"f{number}" for number in range(6)]
# A rule is for a user, a team, or any role except the first one, which has no permissions.
rules = st.lists(
    st.builds(
        lambda level, whom: Rule(level, **whom),
        st.sampled_from([Level.VIEW, Level.EDIT, Level.ADMIN]),
        st.sampled_from([{"user_id": 1}, {"user_id": 2}, {"team_id": 7}, {"team_id": 8}, *({"role": role} for role in list(Role)[1:])]),
    ),
    max_size=3,
)
scopes = st.sampled_from(["*", "dashboards:uid:d1", "folders:uid:general", "folders:*", *(f"folders:uid:{name}" for name in FOLDERS)])
actions = st.sampled_from([f"{kind.area}:{verb}" for kind in KINDS for verb in ("read", "write")])
callers = st.builds(
    lambda role, grants, teams: caller(role, *grants, teams=teams),
    st.sampled_from(list(Role)),
    st.lists(st.tuples(actions, scopes), max_size=2),
    st.sampled_from([(), (7,), (7, 8)]),
)


@st.composite
def trees(draw: st.DrawFn) -> AccessTree:
    """Return folders below earlier ones or the root, some without a path to the root, and rules on any of them and on dashboards."""
    parents: dict[str, str | None] = {}
    for index, name in enumerate(FOLDERS):
        possible_parents = [None, *FOLDERS[:index]]
        # Only the last folder may have a missing parent or itself as parent, so that most trees are connected.
        if name == FOLDERS[-1]:
            possible_parents += ["missing", name]
        parents[name] = draw(st.sampled_from(possible_parents))
    objects_with_rules = st.sampled_from([*(("folders", name) for name in FOLDERS), ("dashboards", "d1"), ("dashboards", "d2")])
    return AccessTree(parents, draw(st.dictionaries(objects_with_rules, rules, max_size=5)))


def naive_level(viewer: Identity, tree: AccessTree, kind: Kind, name: str, folder: str | None) -> Level:
    """Return the level of a caller on an object, by a naive walk from the root down to the object."""

    def level_by(rules: Rules) -> Level:
        """Return the highest level of the rules that apply to the caller."""
        levels = [
            rule.level
            for rule in rules
            if (rule.user_id and rule.user_id == viewer.user_id)
            or rule.team_id in viewer.teams
            or (rule.role and list(Role).index(viewer.role) >= list(Role).index(rule.role))
        ]
        return max(levels, default=Level.NONE)

    if viewer.role is Role.ADMIN:
        return Level.ADMIN
    path_to_root: list[tuple[str, str]] = [(kind.plural, name)]
    while folder is not None:
        # In a cycle or a missing folder, only the object's own rules count. The first step may be a folder that is the object itself.
        if ("folders", folder) in path_to_root[1:] or folder not in tree.parents:
            return level_by(tree.rules_by_object.get((kind.plural, name), []))
        path_to_root.append(("folders", folder))
        folder = tree.parents[folder]
    defaults: Mapping[Role, Level] = {Role.NONE: Level.NONE, Role.VIEWER: Level.VIEW, Role.EDITOR: Level.EDIT}
    # Rules of the topmost object replace the rights of the role.
    level = Level.NONE if path_to_root[-1] in tree.rules_by_object else defaults[viewer.role]
    for step in reversed(path_to_root):
        level = max(level, level_by(tree.rules_by_object.get(step, [])))
    return level


def objects_of(tree: AccessTree) -> list[tuple[Kind, str, str | None]]:
    """Return every folder, and dashboards and panels with and without rules, at the root and in every folder."""
    objects: list[tuple[Kind, str, str | None]] = [(FOLDER, name, tree.parents[name]) for name in FOLDERS]
    for kind in (DASHBOARD, LIBRARY_PANEL):
        objects += [(kind, name, folder) for name in ("d1", "d2", "d3") for folder in (None, *FOLDERS)]
    return objects


@given(viewer=callers, tree=trees())
def test_levels_equal_a_naive_walk(viewer: Identity, tree: AccessTree) -> None:
    """The level of an object is that of a naive walk."""
    view = AccessView(viewer, tree)
    for kind, name, folder in objects_of(tree):
        # Without any rules, the role alone decides, even on objects in missing folders. The naive walk permits those to Admins only.
        if tree.rules_by_object or view.level(kind, name, folder) == Level.ADMIN:
            assert view.level(kind, name, folder) == naive_level(viewer, tree, kind, name, folder), (kind.plural, name, folder)


@given(viewer=callers, tree=trees())
def test_a_list_equals_the_single_checks(viewer: Identity, tree: AccessTree) -> None:
    """A list contains the objects that a single check permits, and each of these permissions passes the first check."""
    view = AccessView(viewer, tree)
    for kind, name, folder in objects_of(tree):
        for verb in ("get", "update"):
            is_permitted = view.may(kind.actions[verb], kind, name, folder)
            assert view.scope(kind, verb).includes(name, folder) is is_permitted, (verb, kind.plural, name, folder)
            if is_permitted:
                assert view.may_on_any(kind.actions[verb])


@given(viewer=callers, before=trees(), after=trees())
def test_views_that_agree_show_the_same_objects(viewer: Identity, before: AccessTree, after: AccessTree) -> None:
    """If ``shows_same_objects`` compares two views as equal, an object of both is visible in both or in neither."""
    first, second = AccessView(viewer, before), AccessView(viewer, after)
    # A view shows the same objects as one of the same tree, or of an equal tree.
    assert AccessView(viewer, before).shows_same_objects(first)
    assert AccessView(viewer, AccessTree(dict(before.parents), dict(before.rules_by_object))).shows_same_objects(first)
    if first.shows_same_objects(second):
        for kind, name, folder in objects_of(before):
            # The parent of a moved folder decides on its visibility, so that may differ.
            if kind is not FOLDER or before.parents[name] == after.parents[name]:
                may_read = first.may(kind.actions["get"], kind, name, folder)
                assert second.may(kind.actions["get"], kind, name, folder) is may_read, (kind.plural, name, folder)


def test_some_changes_keep_the_visibility() -> None:
    """A new visible folder or a deleted hidden folder keeps the visibility of the other objects.

    A deleted visible folder, a move into or out of a closed folder, or a new rule changes it.
    """
    viewer = caller(Role.VIEWER)
    rules_of_closed = {("folders", "closed"): ()}
    view = AccessView(viewer, AccessTree({"a": None, "closed": None, "in": "closed"}, rules_of_closed))
    with_new_folder = AccessTree({"a": None, "closed": None, "in": "closed", "new": "a"}, rules_of_closed)
    without_hidden_folder = AccessTree({"a": None, "closed": None}, rules_of_closed)
    assert view.shows_same_objects(AccessView(viewer, with_new_folder))
    assert view.shows_same_objects(AccessView(viewer, without_hidden_folder))
    without_visible_folder = AccessTree({"closed": None, "in": "closed"}, rules_of_closed)
    hidden_folder_at_root = AccessTree({"a": None, "in": None})
    visible_folder_in_closed = AccessTree({"a": "closed", "closed": None}, rules_of_closed)
    with_new_rules = AccessTree({"a": None, "closed": None}, {**rules_of_closed, ("folders", "a"): ()})
    for changed in (without_visible_folder, hidden_folder_at_root, visible_folder_in_closed, with_new_rules):
        assert not view.shows_same_objects(AccessView(viewer, changed))
    # Without rules, the role permits everything before and after, and Admins see everything despite rules.
    assert AccessView(viewer, AccessTree({"a": None})).shows_same_objects(AccessView(viewer))
    assert AccessView(caller(Role.ADMIN), AccessTree({"a": None})).shows_same_objects(
        AccessView(caller(Role.ADMIN), visible_folder_in_closed)
    )
