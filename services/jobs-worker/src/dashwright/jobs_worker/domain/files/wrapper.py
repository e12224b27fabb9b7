"""What is told of a file: the object in it, what is stored of that, what would be, and where people see the file."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote

from dashwright.common.jobs import paths
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, REPOSITORY
from dashwright.common.models.provisioning import RepositorySpec
from dashwright.common.models.repository_views import (
    LintIssue,
    ResourceAction,
    ResourceObjects,
    ResourceType,
    ResourceUrls,
    ResourceWrapper,
)
from dashwright.jobs_worker.domain.files.content import shown
from dashwright.jobs_worker.domain.lint.issue import Issue
from dashwright.jobs_worker.domain.objects import Repository, Write

_TO_A_NEW_REQUEST = "?quick_pull=1&labels=grafana"


@dataclass(frozen=True, slots=True)
class Sight:
    """A file or directory as somebody looks at it. ``ref`` is as it was asked for, ``commit`` what that is.

    ``write`` is the object as the file describes it, None where it cannot be read or is gone; ``existing`` and ``dry_run`` are objects as
    they are stored, as JSON. ``timestamp`` is when it was written. ``text`` is all of a file that is read by people only.
    """

    path: str
    ref: str
    commit: str
    checksum: str = ""
    is_classic: bool = False
    write: Write | None = None
    existing: bytes | None = None
    dry_run: bytes | None = None
    action: ResourceAction | None = None
    errors: list[str] = field(default_factory=list)
    timestamp: datetime | None = None
    lint: Sequence[Issue] = ()
    text: str | None = None


def wrap(repository: Repository, sight: Sight) -> ResourceWrapper:
    return ResourceWrapper(
        kind="ResourceWrapper",
        api_version=REPOSITORY.api_version(),
        path=sight.path,
        ref=sight.commit or None,
        hash=sight.checksum or None,
        timestamp=sight.timestamp.isoformat(timespec="seconds").replace("+00:00", "Z") if sight.timestamp else None,
        urls=urls_of(repository.spec, sight),
        resource=_objects(repository, sight),
        lint=[LintIssue(**asdict(issue)) for issue in sight.lint] or None,
        errors=sight.errors or None,
    )


def urls_of(spec: RepositorySpec, sight: Sight) -> ResourceUrls | None:
    """None of a folder, and where no branch is known to lead to."""
    if spec.remote is None or not spec.remote.url:
        return None
    url, branch = spec.remote.url.rstrip("/").removesuffix(".git"), spec.remote.branch
    ref = sight.ref or branch or sight.commit
    source = f"{url}/blob/{quote(ref)}/{quote(paths.join(spec.remote.path or '', sight.path))}"
    if not sight.ref or not branch or sight.ref == branch:
        return ResourceUrls(source_url=source, repository_url=url)
    compare = f"{url}/compare/{quote(branch)}...{quote(ref)}"
    return ResourceUrls(source_url=source, repository_url=url, compare_url=compare, new_pull_request_url=compare + _TO_A_NEW_REQUEST)


def _objects(repository: Repository, sight: Sight) -> ResourceObjects:
    if sight.text is not None:
        return ResourceObjects(type=ResourceType(group="", version="", kind="", resource=""), file={"content": sight.text})
    kind = FOLDER if paths.is_directory(sight.path) else DASHBOARD
    version = sight.write.version if sight.write else kind.version
    classic = "dashboard" if sight.is_classic else None
    return ResourceObjects(
        type=ResourceType(group=kind.group, version=version, kind=kind.kind, resource=kind.plural, classic=classic),
        file=_file(repository, sight.write) if sight.write else None,
        existing=shown(sight.existing) if sight.existing else None,
        action=sight.action,
        dry_run=shown(sight.dry_run) if sight.dry_run else None,
    )


def _file(repository: Repository, write: Write) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": write.key.name, "namespace": repository.namespace}
    metadata |= {key: dict(texts) for key, texts in (("labels", write.labels), ("annotations", write.annotations)) if texts}
    return {"apiVersion": write.api_version, "kind": write.kind, "metadata": metadata, "spec": shown(write.spec)}
