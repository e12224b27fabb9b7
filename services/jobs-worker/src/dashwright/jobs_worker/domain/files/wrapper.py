"""The wrapper that describes a file to clients: its object, the stored object, the result of a dry run, and links."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlsplit

from dashwright.common.git_hosts.github import GITHUB
from dashwright.common.git_hosts.registry import known_host, page_of
from dashwright.common.jobs import paths
from dashwright.common.kinds.git_addresses import is_ssh_form
from dashwright.common.kinds.kind import Kind
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
from dashwright.jobs_worker.domain.file_kinds import kind_of_plural
from dashwright.jobs_worker.domain.files.content import object_tree
from dashwright.jobs_worker.domain.lint.issue import Issue
from dashwright.jobs_worker.domain.objects import Repository, Write

_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class FileView:
    """A file or directory in the form that clients see."""

    path: str
    #: Ref as requested.
    ref: str
    #: Commit that the ref names.
    commit: str
    checksum: str = ""
    is_classic: bool = False
    #: The object as the file describes it; None if the file cannot be read or is deleted.
    write: Write | None = None
    #: The stored object as JSON.
    existing: bytes | None = None
    #: The object as it would be stored, as JSON.
    dry_run: bytes | None = None
    action: ResourceAction | None = None
    errors: list[str] = field(default_factory=list)
    #: Time of the last write.
    timestamp: datetime | None = None
    lint: Sequence[Issue] = ()
    #: Content of a Markdown file.
    text: str | None = None


def wrap(repository: Repository, view: FileView) -> ResourceWrapper:
    """Return the view as the resource API describes it."""
    return ResourceWrapper(
        kind="ResourceWrapper",
        api_version=REPOSITORY.api_version(),
        path=view.path,
        ref=view.commit or None,
        hash=view.checksum or None,
        timestamp=view.timestamp.isoformat(timespec="seconds").replace("+00:00", "Z") if view.timestamp else None,
        urls=urls_of(repository.spec, view),
        resource=_objects(repository, view),
        lint=[LintIssue(**asdict(issue)) for issue in view.lint] or None,
        errors=view.errors or None,
    )


def urls_of(spec: RepositorySpec, view: FileView) -> ResourceUrls | None:
    """Return links to the file at its host; None for a local directory and for an SSH address.

    The links that compare branches are present only if the view is of a known branch other than the repository's own.
    """
    if spec.remote is None or not spec.remote.url or is_ssh_form(spec.remote.url):
        return None
    url, branch = spec.remote.url.rstrip("/").removesuffix(".git"), spec.remote.branch
    ref = view.ref or branch or view.commit
    # The pages of a host of unknown kind are assumed to have the addresses that GitHub uses.
    host = known_host(spec.type.value, urlsplit(url).netloc) or GITHUB
    pages, url = host.pages, page_of(host, url)
    file_page = pages.commit_file if _COMMIT.fullmatch(ref) else pages.file
    source = url + file_page.format(ref=quote(ref), path=quote(paths.join(spec.remote.path or "", view.path)))
    if not view.ref or not branch or view.ref == branch:
        return ResourceUrls(source_url=source, repository_url=url)
    branches = {"base": quote(branch), "ref": quote(ref)}
    return ResourceUrls(
        source_url=source,
        repository_url=url,
        compare_url=url + pages.compare.format_map(branches),
        new_pull_request_url=url + pages.new_pull_request.format_map(branches),
    )


def _objects(repository: Repository, view: FileView) -> ResourceObjects:
    """Return the object of a file in its forms, or the text of a Markdown file, which has no object."""
    if view.text is not None:
        return ResourceObjects(type=ResourceType(group="", version="", kind="", resource=""), file={"content": view.text})
    kind = _kind(view)
    version = view.write.version if view.write else kind.version
    resource_type = ResourceType(
        group=kind.group,
        version=version,
        kind=kind.kind,
        resource=kind.plural,
        classic="dashboard" if view.is_classic else None,
    )
    return ResourceObjects(
        type=resource_type,
        file=_file(repository, view.write) if view.write else None,
        existing=object_tree(view.existing) if view.existing else None,
        action=view.action,
        dry_run=object_tree(view.dry_run) if view.dry_run else None,
    )


def _file(repository: Repository, write: Write) -> dict[str, Any]:
    """Return the object as the file describes it, in the form of the resource API."""
    metadata: dict[str, Any] = {"name": write.key.name, "namespace": repository.namespace}
    metadata |= {key: dict(value) for key, value in (("labels", write.labels), ("annotations", write.annotations)) if value}
    return {"apiVersion": write.api_version, "kind": write.kind, "metadata": metadata, "spec": object_tree(write.spec)}


def _kind(view: FileView) -> Kind:
    """Return the kind of the file's object. An unreadable file counts as a dashboard."""
    if paths.is_directory(view.path) or paths.is_folder_file(view.path):
        return FOLDER
    return kind_of_plural(view.write.key.resource) if view.write else DASHBOARD
