"""Kinds that the resource API only reads: users, teams and preferences. The classic API changes them."""

from dashwright.common.kinds.kind import Column, Kind, Storage
from dashwright.common.models.iam import TeamSpec, UserSpec, UserStatus
from dashwright.common.models.preferences import PreferencesSpec

_NAME = Column("Name", ("metadata", "name"), format="name", description="Name must be unique within a namespace", source="name")
_CREATED = Column("Created At", ("metadata", "creationTimestamp"), type="date", description="When the record was created")
_VERBS = frozenset({"get", "list"})


def _read_actions(action: str) -> dict[str, str]:
    return {"get": action, "list": action}


USER = Kind(
    group="iam.grafana.app",
    versions=("v0alpha1",),
    kind="User",
    description="A user as a member of an organization",
    plural="users",
    singular="user",
    verbs=_VERBS,
    actions=_read_actions("org.users:read"),
    storage=Storage.RECORDS,
    spec=UserSpec,
    status=UserStatus,
    # Not in the category ``grafana``: ``kubectl get grafana`` would fail for callers who are not administrators.
    categories=(),
    columns=(_NAME, Column("Login", ("spec", "login")), Column("Role", ("spec", "role")), _CREATED),
)

TEAM = Kind(
    group="iam.grafana.app",
    versions=("v0alpha1",),
    kind="Team",
    description="A group of users who share permissions",
    plural="teams",
    singular="team",
    verbs=_VERBS,
    actions=_read_actions("teams:read"),
    storage=Storage.RECORDS,
    spec=TeamSpec,
    categories=(),
    columns=(_NAME, Column("Title", ("spec", "title")), Column("Email", ("spec", "email")), _CREATED),
)

PREFERENCES = Kind(
    group="preferences.grafana.app",
    versions=("v1alpha1",),
    kind="Preferences",
    description="Theme, time zone and home dashboard of an organization, its teams, and the caller",
    plural="preferences",
    singular="preferences",
    verbs=_VERBS,
    actions=_read_actions("orgs.preferences:read"),
    storage=Storage.RECORDS,
    spec=PreferencesSpec,
    categories=(),
    columns=(_NAME, Column("Theme", ("spec", "theme")), Column("Timezone", ("spec", "timezone")), _CREATED),
)

RECORD_KINDS: tuple[Kind, ...] = (USER, TEAM, PREFERENCES)
