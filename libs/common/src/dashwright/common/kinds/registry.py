"""Every kind that is served."""

from dashwright.common.kinds.dashboard import admit_dashboard, admit_folder, extract_dashboard
from dashwright.common.kinds.kind import Column, Kind, Shelf
from dashwright.common.kinds.repository import admit_repository
from dashwright.common.models.evaluation import EvaluationSpec
from dashwright.common.models.folder import FolderSpec
from dashwright.common.models.provisioning import JobSpec, JobStatus, RepositorySpec, RepositoryStatus

_NAME = Column("Name", ("metadata", "name"), format="name", description="Name must be unique within a namespace")
_TITLE = Column("Title", ("spec", "title"), description="The title that people see")
_CREATED = Column("Created At", ("metadata", "creationTimestamp"), type="date", description="When the object was created")

_READ_VERBS = ("get", "list")


def _actions(area: str, *, create: str = "create", status: str = "write") -> dict[str, str]:
    return {
        "get": f"{area}:read",
        "list": f"{area}:read",
        "create": f"{area}:{create}",
        "delete": f"{area}:delete",
        "status": f"{area}:{status}",
    }


DASHBOARD = Kind(
    group="dashboard.grafana.app",
    versions=("v2alpha1", "v1beta1", "v0alpha1"),
    kind="Dashboard",
    plural="dashboards",
    singular="dashboard",
    verbs=frozenset({*_READ_VERBS, "create", "delete"}),
    actions=_actions("dashboards"),
    columns=(_NAME, _TITLE, _CREATED),
    admit=admit_dashboard,
    extract=extract_dashboard,
)

FOLDER = Kind(
    group="folder.grafana.app",
    versions=("v0alpha1",),
    kind="Folder",
    plural="folders",
    singular="folder",
    verbs=frozenset({*_READ_VERBS, "create", "delete"}),
    actions=_actions("folders"),
    spec=FolderSpec,
    columns=(_NAME, _TITLE, _CREATED),
    admit=admit_folder,
)

REPOSITORY = Kind(
    group="provisioning.grafana.app",
    versions=("v0alpha1",),
    kind="Repository",
    plural="repositories",
    singular="repository",
    verbs=frozenset({*_READ_VERBS, "create", "delete"}),
    actions=_actions("repositories"),
    dns_name=True,
    spec=RepositorySpec,
    status=RepositoryStatus,
    columns=(_NAME, _TITLE, Column("Type", ("spec", "type")), Column("Healthy", ("status", "health", "healthy"), type="boolean"), _CREATED),
    admit=admit_repository,
)

JOB = Kind(
    group="provisioning.grafana.app",
    versions=("v0alpha1",),
    kind="Job",
    plural="jobs",
    singular="job",
    verbs=frozenset({*_READ_VERBS, "create", "delete"}),
    actions=_actions("jobs"),
    shelf=Shelf.JOBS,
    dns_name=True,
    spec=JobSpec,
    status=JobStatus,
    columns=(_NAME, Column("State", ("status", "state")), Column("Message", ("status", "message")), _CREATED),
)

EVALUATION = Kind(
    group="expressions.dashwright.io",
    versions=("v0alpha1",),
    kind="Evaluation",
    plural="evaluations",
    singular="evaluation",
    verbs=frozenset({*_READ_VERBS, "create", "delete"}),
    actions=_actions("evaluations"),
    shelf=Shelf.JOBS,
    dns_name=True,
    spec=EvaluationSpec,
    status=JobStatus,
    columns=(_NAME, Column("State", ("status", "state")), Column("Message", ("status", "message")), _CREATED),
)

KINDS: tuple[Kind, ...] = (DASHBOARD, FOLDER, REPOSITORY, JOB, EVALUATION)


def find(group: str, plural: str) -> Kind | None:
    """The kind a path of the resource API names."""
    return next((kind for kind in KINDS if kind.group == group and kind.plural == plural), None)


def find_by_name(group: str, kind: str) -> Kind | None:
    """The kind an object's ``apiVersion`` and ``kind`` name."""
    return next((item for item in KINDS if item.group == group and item.kind == kind), None)
