"""Admission of repositories: the rules of their spec, as observed in Grafana's provisioning API.

The texts of the causes are those that its clients show.
"""

import hashlib
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

import orjson

from dashwright.common.errors import BadRequest
from dashwright.common.jobs import paths
from dashwright.common.jobs.selection import MAX_PATTERNS, Pattern
from dashwright.common.kinds.branches import is_branch
from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.kind import Body, Kind, RenderedBody
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.provisioning import RepositoryType

RESERVED_NAMES = frozenset(
    ["classic", "sql", "SQL", "plugins", "legacy", "new", "job", "github", "githost", "s3", "gcs", "file", "create", "update", "delete"]
)
SHORTEST_INTERVAL = 10
LONGEST_URL: Final = 2000

REMOVE_MANAGED: Final = "remove-orphan-resources"
RELEASE_MANAGED: Final = "release-orphan-resources"
CLEAN_UP: Final = "cleanup"
#: Finalizers of a new repository that names none: its managed objects are deleted together with it.
FINALIZERS: Final = (CLEAN_UP, REMOVE_MANAGED)

#: Finalizers that the server runs itself and immediately. A deletion waits for all others.
OWN_FINALIZERS: Final = frozenset({CLEAN_UP, REMOVE_MANAGED, RELEASE_MANAGED})

#: Types of repositories on git hosts. The block with the configuration has the name of the type.
GIT_TYPES: Final = tuple(kind for kind in RepositoryType if kind is not RepositoryType.LOCAL)

_HOST: Final = re.compile(r"[a-z0-9_][a-z0-9_.-]{0,252}", re.IGNORECASE)


def render_repository(_kind: Kind, body: Body, _version: str) -> RenderedBody:
    """Return a repository together with the names of its secrets."""
    spec, status = orjson.loads(body.spec), orjson.loads(body.status or "{}")
    token, hook = git_block(spec).get("encryptedToken"), (status.get("webhook") or {}).get("encryptedSecret")
    named = {"token": token, "webhookSecret": hook}
    secure = {member: {"name": secret_name(sealed)} for member, sealed in named.items() if sealed}
    return RenderedBody(body.spec, body.status, orjson.dumps(secure).decode() if secure else None)


def git_block(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the block of a spec that its type names; empty for a local repository."""
    kind = spec.get("type")
    block = spec.get(kind) if kind in GIT_TYPES else None
    return block if isinstance(block, dict) else {}


def secret_name(sealed: str) -> str:
    """Return the unique name of a sealed secret."""
    return f"inline-{hashlib.sha256(sealed.encode()).hexdigest()[:14]}"


def token_place(namespace: str, name: str) -> str:
    """Return the owner for which the token of a repository is sealed."""
    return f"repository:{namespace}/{name}/token"


def hook_place(namespace: str, name: str) -> str:
    """Return the owner for which the webhook secret of a repository is sealed."""
    return f"repository:{namespace}/{name}/webhook"


def is_host(host: str) -> bool:
    """Return whether every program reads ``host`` alike.

    That is an IP address or a name in ASCII letters (others in their ``xn--`` form).
    """
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return _HOST.fullmatch(host) is not None
    return "%" not in host


def plain_url(url: str) -> str:
    """Return a URL as it is stored: without trailing slashes and without one ``.git``, unless nothing would be left."""
    trimmed = url.rstrip("/")
    shorter = trimmed.removesuffix(".git")
    return trimmed if shorter.endswith("/") else shorter


def host_of(url: str | None) -> str:
    """Return scheme, host and port of a URL, to which a token is sent; empty if the URL is invalid."""
    parts = _split(url or "")
    return f"{parts.scheme}://{parts.netloc.lower()}" if parts is not None else ""


@dataclass(frozen=True, slots=True)
class Source:
    """Location of the files of a repository: a branch of a URL or folders of this machine, and the directory in it.

    Sources with different patterns are not compared.
    """

    #: Text that occurs in the spec of every repository with the same ``origin``, to find candidates.
    text: str
    origin: tuple[str, str]
    directory: tuple[str, ...]
    patterns: tuple[tuple[str, ...], ...]

    def overlaps(self, other: "Source") -> bool:
        """Return whether a file may belong to both sources: one directory equals or contains the other."""
        shorter = min(len(self.directory), len(other.directory))
        is_comparable = (self.origin, self.patterns) == (other.origin, other.patterns)
        return is_comparable and self.directory[:shorter] == other.directory[:shorter]


def source_of(spec: Mapping[str, Any], permitted: tuple[str, ...]) -> Source | None:
    """Return the source of an admitted spec; None if its folder is not permitted any more."""
    if spec["type"] == RepositoryType.LOCAL:
        folder = resolve_local(spec["local"]["path"], permitted)
        return None if folder is None else Source('"local"', ("", ""), _parts(folder), _patterns(spec["local"]))
    githost = git_block(spec)
    url = plain_url(githost["url"])
    return Source(url, (url.lower(), githost.get("branch") or ""), _parts(githost.get("path") or ""), _patterns(githost))


def _patterns(block: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(block.get(name) or ()) for name in ("include", "exclude"))


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


def admit_repository(draft: Draft, settings: AdmissionSettings) -> None:
    """Check a spec that already has the shape of RepositorySpec; add one cause for each fault."""
    spec = draft.spec
    if draft.name in RESERVED_NAMES:
        draft.invalid("metadata.name", draft.name, "Name is reserved, choose a different identifier")
    if not spec.get("title", "").strip():
        draft.required("spec.title", "a repository title must be given")
    _check_workflows(draft)
    _check_sync(draft)
    for other in RepositoryType:
        if other != spec["type"] and other in spec:
            draft.invalid(f"spec.{other}", "{…}", f"{other.capitalize()} config only valid when type is {other}")
    if spec["type"] == RepositoryType.LOCAL:
        _check_local(draft, settings)
    else:
        _check_git(draft, spec["type"])
    _check_selection(draft, spec["type"])
    if draft.old_spec is not None and _is_local(draft.old_spec) != _is_local(spec):
        draft.forbidden("spec.type", "Changing the repository type is not supported; delete the repository and create a new one")


def _check_workflows(draft: Draft) -> None:
    workflows = draft.spec.get("workflows", [])
    for index, workflow in enumerate(workflows):
        if workflow in workflows[:index]:
            draft.duplicate(f"spec.workflows[{index}]", workflow)
    if "branch" in workflows and draft.spec["type"] == RepositoryType.LOCAL:
        draft.invalid("spec.workflow", "branch", "branch is only supported on git repositories")


def _check_sync(draft: Draft) -> None:
    sync = draft.spec["sync"]
    interval = sync.get("intervalSeconds") or 0
    if sync.get("enabled") and interval and interval < SHORTEST_INTERVAL:
        draft.invalid("spec.sync.intervalSeconds", interval, f"Interval must be at least {SHORTEST_INTERVAL} seconds")
    if interval < 0:
        draft.invalid("spec.sync.intervalSeconds", interval, "Interval must not be negative; 0 means no periodic sync")


def _is_local(spec: Mapping[str, Any]) -> bool:
    return spec.get("type") == RepositoryType.LOCAL


def _check_git(draft: Draft, name: str) -> None:
    """Check the block of a repository on a git host. ``name`` is the name of the block."""
    block = draft.spec.get(name)
    if block is None:
        draft.required(f"spec.{name}", f"a {name} config is required")
        return
    if block.get("url"):
        block["url"] = plain_url(block["url"])
    _check_url(draft, name, block.get("url") or "")
    branch = block.get("branch") or ""
    if branch and not is_branch(branch):
        draft.invalid(f"spec.{name}.branch", branch, "invalid branch name")
    _check_directory(draft, name, block)


def _check_url(draft: Draft, name: str, url: str) -> None:
    field = f"spec.{name}.url"
    if not url:
        draft.required(field, "the address of a repository: https://host/path")
        return
    parts = _split(url)
    if parts is None or len(url) > LONGEST_URL or not url.isprintable() or " " in url:
        draft.invalid(field, url.partition("@")[2] or url[:200], "give the address of a repository: https://host[:port]/path")
    elif parts.username is not None or parts.password is not None:
        draft.invalid(field, parts.hostname, "leave user and password out of the address; set the token as secure.token.create")
    elif parts.query or parts.fragment:
        draft.invalid(field, url[:200], "leave out what follows ? or #")
    elif not parts.path.strip("/"):
        draft.invalid(field, url[:200], "the path of the repository is missing: https://host/path")


def _check_directory(draft: Draft, name: str, block: dict[str, Any]) -> None:
    """Check the directory of a branch. The root is stored as a missing path."""
    path = block.pop("path", "").strip("/")
    if not path:
        return
    block["path"] = path
    try:
        paths.check_path(path)
    except BadRequest as fault:
        draft.invalid(f"spec.{name}.path", path[:200], fault.message)


def _check_selection(draft: Draft, block: str) -> None:
    """Check ``include`` and ``exclude``. An empty list is removed, since it means the same as a missing one."""
    config = draft.spec.get(block) or {}
    for name in ("include", "exclude"):
        patterns = config.get(name)
        if not patterns:
            config.pop(name, None)
            continue
        field = f"spec.{block}.{name}"
        if len(patterns) > MAX_PATTERNS:
            draft.invalid(field, len(patterns), f"at most {MAX_PATTERNS} patterns")
        for index, pattern in enumerate(patterns[:MAX_PATTERNS]):
            try:
                Pattern.parse(pattern)
            except BadRequest as fault:
                draft.invalid(f"{field}[{index}]", pattern[:200], fault.message)


def _split(url: str) -> SplitResult | None:
    """Return the parts of an http or https URL; None if it is invalid."""
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("https", "http") and is_host(parts.hostname or "") and (parts.port or 1) > 0
    except ValueError:
        return None
    return parts if is_usable else None


def _check_local(draft: Draft, settings: AdmissionSettings) -> None:
    local = draft.spec.get("local")
    if local is None:
        draft.required("spec.local", "a local repository needs its path")
        return
    path = local.get("path", "")
    if not path:
        draft.required("spec.local.path", "must enter a path to a local directory")
        return
    if ".." in path.split("/") or "." in path.split("/"):
        draft.invalid("spec.local.path", path, "path contains traversal attempt (./ or ../)")
        return
    if not settings.permitted_paths:
        text = f"the path given ('{path}') is invalid for a local repository (no permitted prefixes were configured)"
        draft.invalid("spec.local.path", path, text)
        return
    if resolve_local(path, settings.permitted_paths) is None:
        listed = ", ".join(settings.permitted_paths)
        draft.invalid("spec.local.path", path, f"the path must be inside a permitted folder (DASHWRIGHT_PERMITTED_PATHS: {listed})")


def resolve_local(path: str, permitted: tuple[str, ...]) -> str | None:
    """Return the absolute folder of a local repository, or None outside the permitted folders.

    A relative path starts at the first permitted folder. Only the text is checked: the reader of the folder checks
    again where symlinks lead.
    """
    if not permitted:
        return None
    absolute = path if path.startswith("/") else f"{permitted[0].rstrip('/')}/{path}"
    cleaned = "/" + "/".join(part for part in absolute.split("/") if part)
    inside = any(cleaned == root or cleaned.startswith(root + "/") for root in (item.rstrip("/") for item in permitted))
    return cleaned if inside else None
