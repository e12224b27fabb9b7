"""Registry of all kinds."""

from collections.abc import Mapping
from types import MappingProxyType

from dashwright.common.identity import Role
from dashwright.common.kinds.batch import admit_batch
from dashwright.common.kinds.conversion import DASHBOARD_VERSIONING, render_dashboard
from dashwright.common.kinds.dashboard import admit_dashboard, admit_folder, extract_dashboard
from dashwright.common.kinds.kind import Column, Kind, Storage, SubResource
from dashwright.common.kinds.library_panel import admit_library_panel, extract_library_panel, merge_library_panel, render_library_panel
from dashwright.common.kinds.notifications import ENCRYPTED_SECRET, render_batch
from dashwright.common.kinds.playlist import admit_playlist, render_playlist
from dashwright.common.kinds.records import RECORD_KINDS
from dashwright.common.kinds.repository import FINALIZERS, SERVER_FINALIZERS, admit_repository, render_repository
from dashwright.common.models.batch import BatchItemList, BatchItemResult, BatchRetry, BatchSecure, BatchSpec, BatchStatus
from dashwright.common.models.dashboard import DashboardStatus
from dashwright.common.models.dashboard_access import DashboardWithAccessInfo
from dashwright.common.models.dashboard_versions import DashboardVersionList, VersionsQueryOptions
from dashwright.common.models.dead_letter import DeadLetterSpec, DeadLetterStatus
from dashwright.common.models.evaluation import EvaluationSpec
from dashwright.common.models.folder import DescendantCounts, FolderAccessInfo, FolderInfoList, FolderSpec
from dashwright.common.models.library_panel import LibraryPanelSpec, LibraryPanelStatus
from dashwright.common.models.playlist import PlaylistSpec, PlaylistStatus
from dashwright.common.models.provisioning import JobSpec, JobStatus, RepositorySecure, RepositorySpec, RepositoryStatus
from dashwright.common.models.repository_views import FileList, HistoryList, RefList, ResourceList, RevisionList, TestResults

_NAME = Column("Name", ("metadata", "name"), format="name", description="Name must be unique within a namespace", source="name")
_TITLE = Column("Title", ("spec", "title"), description="The title that users see", source="title")
_CREATED = Column("Created At", ("metadata", "creationTimestamp"), type="date", description="When the object was created", source="created")

_STORED_VERBS = frozenset({"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"})
_PROVISIONING_VERSIONS = ("v0alpha1", "v1", "v1beta1")
_JOB_VERBS = frozenset({"get", "list", "watch", "create", "delete", "deletecollection"})


def _actions(area: str) -> dict[str, str]:
    """Return the permission that each verb needs, such as ``dashboards:write`` for ``patch`` in the area ``dashboards``."""
    read, write = f"{area}:read", f"{area}:write"
    return {
        "get": read,
        "list": read,
        "watch": read,
        "create": f"{area}:create",
        "update": write,
        "patch": write,
        "delete": f"{area}:delete",
        "deletecollection": f"{area}:delete",
        "status": write,
    }


def _roles(area: str, *, read: Role, create: Role, delete: Role, write: Role | None = None) -> Mapping[str, Role]:
    """Return the lowest role that may perform each action of an area. If ``write`` is None, no role may write."""
    role_by_verb = {"read": read, "create": create, "write": write, "delete": delete}
    return MappingProxyType({f"{area}:{verb}": role for verb, role in role_by_verb.items() if role is not None})


def _viewer_editor_roles(area: str) -> Mapping[str, Role]:
    """Return the roles for kinds that Viewers can read and Editors can change."""
    return _roles(area, read=Role.VIEWER, create=Role.EDITOR, write=Role.EDITOR, delete=Role.EDITOR)


DASHBOARD = Kind(
    group="dashboard.grafana.app",
    versions=("v2alpha1", "v2", "v2beta1", "v1", "v1beta1", "v1alpha1", "v0alpha1"),
    kind="Dashboard",
    description="Panels on a page. The spec is stored in the form in which it was sent",
    plural="dashboards",
    singular="dashboard",
    verbs=_STORED_VERBS,
    actions=_actions("dashboards"),
    columns=(_NAME, _TITLE, _CREATED),
    admit=admit_dashboard,
    extract=extract_dashboard,
    render=render_dashboard,
    versioning=DASHBOARD_VERSIONING,
    rendered_status=DashboardStatus,
    short_names=("dash",),
    in_folder=True,
    history=True,
    area="dashboards",
    roles=_viewer_editor_roles("dashboards"),
    has_access_rules=True,
    subresources=(
        SubResource("dto", "DashboardWithAccessInfo", "dashboards:read", model=DashboardWithAccessInfo),
        SubResource("versions", "DashboardVersionList", "dashboards:read", model=DashboardVersionList, options=VersionsQueryOptions),
    ),
)

FOLDER = Kind(
    group="folder.grafana.app",
    versions=("v0alpha1", "v1", "v1beta1", "v1alpha1"),
    kind="Folder",
    description="A container of dashboards, library panels and folders, which determines the access to them",
    plural="folders",
    singular="folder",
    verbs=_STORED_VERBS,
    actions=_actions("folders"),
    spec=FolderSpec,
    columns=(_NAME, _TITLE, _CREATED),
    admit=admit_folder,
    short_names=("fold",),
    in_folder=True,
    is_tree=True,
    area="folders",
    roles=_viewer_editor_roles("folders"),
    has_access_rules=True,
    subresources=(
        SubResource("parents", "FolderInfoList", "folders:read", model=FolderInfoList),
        SubResource("counts", "DescendantCounts", "folders:read", model=DescendantCounts),
        SubResource("access", "FolderAccessInfo", "folders:read", model=FolderAccessInfo),
    ),
)

LIBRARY_PANEL = Kind(
    group="dashboard.grafana.app",
    versions=("v2alpha1", "v1beta1", "v0alpha1"),
    kind="LibraryPanel",
    description="A panel that many dashboards show",
    plural="librarypanels",
    singular="librarypanel",
    verbs=_STORED_VERBS,
    actions=_actions("library.panels"),
    columns=(_NAME, _TITLE, Column("Type", ("spec", "type"), description="The type of the panel", source="subtype"), _CREATED),
    admit=admit_library_panel,
    extract=extract_library_panel,
    render=render_library_panel,
    merge=merge_library_panel,
    rendered_spec=LibraryPanelSpec,
    rendered_status=LibraryPanelStatus,
    short_names=("libpanel",),
    in_folder=True,
    area="library.panels",
    roles=_viewer_editor_roles("library.panels"),
    set_lists=(("spec", "targets"),),
)

REPOSITORY = Kind(
    group="provisioning.grafana.app",
    versions=_PROVISIONING_VERSIONS,
    kind="Repository",
    description="A source of files from which dashboards and folders are synced",
    plural="repositories",
    singular="repository",
    verbs=_STORED_VERBS,
    actions=_actions("repositories"),
    roles=_roles("repositories", read=Role.EDITOR, create=Role.ADMIN, write=Role.ADMIN, delete=Role.ADMIN),
    dns_name=True,
    spec=RepositorySpec,
    status=RepositoryStatus,
    secure=RepositorySecure,
    render=render_repository,
    columns=(_NAME, _TITLE, Column("Type", ("spec", "type")), Column("Healthy", ("status", "health", "healthy"), type="boolean"), _CREATED),
    admit=admit_repository,
    finalizers=FINALIZERS,
    server_finalizers=SERVER_FINALIZERS,
    short_names=("repo",),
    subresources=(
        SubResource("sync", "Job", "jobs:create", verbs=("create",)),
        SubResource("export", "Job", "jobs:create", verbs=("create",)),
        SubResource("jobs", "Job", "jobs:create", verbs=("create",)),
        SubResource("test", "TestResults", "repositories:write", verbs=("create",), model=TestResults),
        SubResource("resources", "ResourceList", "repositories:write", model=ResourceList),
        SubResource("files", "FileList", "repositories:write", model=FileList),
        SubResource("refs", "RefList", "repositories:read", model=RefList),
        SubResource("history", "HistoryList", "repositories:write", model=HistoryList),
        SubResource("rollback", "Job", "repositories:write", verbs=("create",)),
        SubResource("revisions", "RevisionList", "repositories:read", model=RevisionList),
    ),
)

JOB = Kind(
    group="provisioning.grafana.app",
    versions=_PROVISIONING_VERSIONS,
    kind="Job",
    description="Work on a repository: a sync, an export, or the preview of a pull request",
    plural="jobs",
    singular="job",
    verbs=_JOB_VERBS,
    actions=_actions("jobs"),
    roles=_roles("jobs", read=Role.EDITOR, create=Role.EDITOR, write=Role.ADMIN, delete=Role.EDITOR),
    storage=Storage.JOBS,
    dns_name=True,
    spec=JobSpec,
    status=JobStatus,
    columns=(_NAME, Column("State", ("status", "state")), Column("Message", ("status", "message")), _CREATED),
)

EVALUATION = Kind(
    group="expressions.dashwright.io",
    versions=("v0alpha1",),
    kind="Evaluation",
    description="A panel whose queries are evaluated in the background",
    plural="evaluations",
    singular="evaluation",
    verbs=_JOB_VERBS,
    actions=_actions("evaluations"),
    roles=_roles("evaluations", read=Role.VIEWER, create=Role.VIEWER, delete=Role.EDITOR),
    storage=Storage.JOBS,
    dns_name=True,
    spec=EvaluationSpec,
    status=JobStatus,
    # A job queries with the rights of the service: its submitter must have access to every data source.
    extra_create_permissions=(("datasources:query", "datasources:uid:*"),),
    columns=(_NAME, Column("State", ("status", "state")), Column("Message", ("status", "message")), _CREATED),
)

BATCH = Kind(
    group="jobs.dashwright.io",
    versions=("v0alpha1",),
    kind="Batch",
    description="Many jobs and evaluations that are submitted, watched, cancelled and retried together",
    plural="batches",
    singular="batch",
    verbs=_STORED_VERBS,
    actions=_actions("batches"),
    roles=_roles("batches", read=Role.VIEWER, create=Role.EDITOR, write=Role.EDITOR, delete=Role.EDITOR),
    dns_name=True,
    spec=BatchSpec,
    status=BatchStatus,
    secure=BatchSecure,
    render=render_batch,
    hidden_members=(("spec", "notify", "webhook", ENCRYPTED_SECRET),),
    admit=admit_batch,
    # Not in the category ``grafana``: ``kubectl get grafana`` would fail for callers who may not read batches.
    categories=(),
    columns=(
        _NAME,
        Column("State", ("status", "state")),
        Column("Progress", ("status", "progress"), type="number"),
        Column("Total", ("status", "counts", "total"), type="integer"),
        Column("Errors", ("status", "counts", "error"), type="integer"),
        _CREATED,
    ),
    subresources=(
        SubResource("items", "BatchItemList", "batches:read", verbs=("create", "get"), model=BatchItemList),
        SubResource("results", "BatchItemResult", "batches:read", verbs=("get",), model=BatchItemResult),
        SubResource("close", "Batch", "batches:write", verbs=("create",)),
        SubResource("cancel", "Batch", "batches:write", verbs=("create",)),
        SubResource("retry", "BatchRetry", "batches:write", verbs=("create",), model=BatchRetry),
    ),
)

_DEAD_LETTER_READ, _DEAD_LETTER_WRITE = "deadletters:read", "deadletters:write"

DEAD_LETTER = Kind(
    group="jobs.dashwright.io",
    versions=("v0alpha1",),
    kind="DeadLetter",
    description="A message that could not be handled",
    plural="deadletters",
    singular="deadletter",
    verbs=frozenset({"get", "list", "delete", "deletecollection"}),
    actions={"get": _DEAD_LETTER_READ, "list": _DEAD_LETTER_READ, "delete": _DEAD_LETTER_WRITE, "deletecollection": _DEAD_LETTER_WRITE},
    # Dead letters hold messages of all members of the organization, so only its administrators may read them.
    roles=MappingProxyType({_DEAD_LETTER_READ: Role.ADMIN, _DEAD_LETTER_WRITE: Role.ADMIN}),
    storage=Storage.DEAD_LETTERS,
    dns_name=True,
    spec=DeadLetterSpec,
    status=DeadLetterStatus,
    # Not in the category ``grafana``: ``kubectl get grafana`` would fail for callers who are not administrators.
    categories=(),
    columns=(_NAME, Column("State", ("status", "state")), Column("Reason", ("status", "reason")), _CREATED),
    subresources=(SubResource("replay", "DeadLetter", _DEAD_LETTER_WRITE, verbs=("create",)),),
)

PLAYLIST = Kind(
    group="playlist.grafana.app",
    versions=("v1", "v0alpha1"),
    kind="Playlist",
    description="A sequence of dashboards that a screen shows one after the other",
    plural="playlists",
    singular="playlist",
    verbs=_STORED_VERBS,
    actions=_actions("playlists"),
    roles=_viewer_editor_roles("playlists"),
    spec=PlaylistSpec,
    columns=(_NAME, _TITLE, Column("Interval", ("spec", "interval")), _CREATED),
    admit=admit_playlist,
    render=render_playlist,
    rendered_status=PlaylistStatus,
)

KINDS: tuple[Kind, ...] = (DASHBOARD, FOLDER, LIBRARY_PANEL, REPOSITORY, JOB, EVALUATION, BATCH, DEAD_LETTER, PLAYLIST, *RECORD_KINDS)


def find(group: str, plural: str) -> Kind | None:
    """Return the kind with a group and plural, or None."""
    return next((kind for kind in KINDS if kind.group == group and kind.plural == plural), None)
