"""Admission of repositories, with the rules and messages of Grafana's provisioning API."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

import orjson

from dashwright.common.errors import BadRequest
from dashwright.common.jobs import paths
from dashwright.common.jobs.selection import MAX_PATTERNS, Pattern
from dashwright.common.kinds.allowed_signers import check_allowed_signers
from dashwright.common.kinds.branches import is_branch
from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.git_addresses import is_ssh_form, parse_git_address, split_url
from dashwright.common.kinds.kind import Body, Kind, RenderedBody
from dashwright.common.kinds.notifications import check_receivers, remove_receiver_secrets
from dashwright.common.kinds.secret_names import secret_name
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.kinds.ssh_access import check_known_hosts
from dashwright.common.models.provisioning import RepositoryType

#: Names that Grafana's provisioning API reserves.
RESERVED_NAMES = frozenset(
    ["classic", "sql", "SQL", "plugins", "legacy", "new", "job", "github", "githost", "s3", "gcs", "file", "create", "update", "delete"]
)
MIN_SYNC_INTERVAL_SECONDS = 10
MAX_URL_LENGTH: Final = 2000
#: Maximum number of characters of an invalid value in an error message.
_MAX_EXCERPT_LENGTH: Final = 200

#: Finalizers that delete the managed objects together with the repository, or release them.
REMOVE_MANAGED: Final = "remove-orphan-resources"
RELEASE_MANAGED: Final = "release-orphan-resources"
#: Finalizer that removes the webhook at the git host.
CLEAN_UP: Final = "cleanup"
#: Finalizers of a new repository if the request has none. They delete the managed objects together with the repository.
FINALIZERS: Final = (CLEAN_UP, REMOVE_MANAGED)

#: Finalizers that the server runs itself and immediately. A deletion waits for all others.
SERVER_FINALIZERS: Final = frozenset({CLEAN_UP, REMOVE_MANAGED, RELEASE_MANAGED})

#: Types of repositories on git hosts. The spec has their configuration under the name of the type.
GIT_TYPES: Final = tuple(repository_type for repository_type in RepositoryType if repository_type is not RepositoryType.LOCAL)


def render_repository(_kind: Kind, body: Body, _version: str) -> RenderedBody:
    """Return the form of a repository that the API shows, with the names of its secrets."""
    spec, status = orjson.loads(body.spec), orjson.loads(body.status or "{}")
    config = git_config(spec)
    webhook_secret = (status.get("webhook") or {}).get("encryptedSecret")
    secrets = {
        "token": config.get("encryptedToken"),
        "sshKey": config.get("encryptedSshKey"),
        "signingKey": config.get("encryptedSigningKey"),
        "webhookSecret": webhook_secret,
    }
    secure: dict[str, Any] = {member: {"name": secret_name(sealed)} for member, sealed in secrets.items() if sealed}
    shown_spec = body.spec
    # Unlike the other sealed secrets, those of receivers are removed from the shown spec.
    if receiver_secrets := remove_receiver_secrets(spec):
        secure["notifications"] = {name: {"name": secret_name(sealed)} for name, sealed in receiver_secrets.items()}
        shown_spec = orjson.dumps(spec).decode()
    return RenderedBody(shown_spec, body.status, orjson.dumps(secure).decode() if secure else None)


def git_config(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the member of the spec with the configuration of a git host, which is named like the type. Empty for a local repository."""
    repository_type = spec.get("type")
    config = spec.get(repository_type) if repository_type in GIT_TYPES else None
    return config if isinstance(config, dict) else {}


def token_owner(namespace: str, name: str) -> str:
    """Return the name of the record to which the sealed token of a repository is bound."""
    return f"repository:{namespace}/{name}/token"


def ssh_key_owner(namespace: str, name: str) -> str:
    """Return the name of the record to which the sealed deploy key of a repository is bound."""
    return f"repository:{namespace}/{name}/ssh-key"


def signing_key_owner(namespace: str, name: str) -> str:
    """Return the name of the record to which the sealed signing key of a repository is bound."""
    return f"repository:{namespace}/{name}/signing-key"


def webhook_secret_owner(namespace: str, name: str) -> str:
    """Return the name of the record to which the sealed webhook secret of a repository is bound."""
    return f"repository:{namespace}/{name}/webhook"


def normalize_url(url: str) -> str:
    """Return the stored form of a URL, without trailing slashes and without the suffix ``.git``."""
    without_slashes = url.rstrip("/")
    without_suffix = without_slashes.removesuffix(".git")
    # ``.git`` alone is a name and not a suffix.
    return without_slashes if without_suffix.endswith("/") else without_suffix


def host_of(url: str | None) -> str:
    """Return the scheme, host and port of a URL, for SSH also the user, or an empty string if the URL is invalid."""
    address = parse_git_address(url or "")
    if address is not None and address.is_ssh:
        return address.origin
    parts = split_url(url or "")
    return f"{parts.scheme}://{parts.netloc.lower()}" if parts is not None else ""


@dataclass(frozen=True, slots=True)
class Source:
    """Location of the files of a repository: a directory on this machine, or a directory in a branch of a git repository.

    Sources with different patterns count as separate, because it is not examined which files they share.
    """

    #: String that occurs in the spec of each repository with the same ``origin``, by which the store finds candidates.
    search_string: str
    origin: tuple[str, str]  #: URL in lower case and branch. Both are empty for local directories.
    directory: tuple[str, ...]  #: Names in the path of the directory.
    patterns: tuple[tuple[str, ...], ...]  #: The patterns to include, and those to exclude.

    def overlaps(self, other: "Source") -> bool:
        """Return whether a file may belong to both sources: one directory equals or contains the other."""
        shorter = min(len(self.directory), len(other.directory))
        is_comparable = (self.origin, self.patterns) == (other.origin, other.patterns)
        return is_comparable and self.directory[:shorter] == other.directory[:shorter]


def source_of(spec: Mapping[str, Any], permitted_paths: tuple[str, ...]) -> Source | None:
    """Return the source of an admitted spec, or None if its folder is no longer permitted."""
    if spec["type"] == RepositoryType.LOCAL:
        folder = resolve_local(spec["local"]["path"], permitted_paths)
        # The type as the search string: local paths can be written in several ways.
        return None if folder is None else Source('"local"', ("", ""), _path_names(folder), _patterns(spec["local"]))
    githost = git_config(spec)
    url = normalize_url(githost["url"])
    address = parse_git_address(url)
    if address is not None and address.is_ssh:
        # The two forms of an SSH address have only the path in common.
        location = (f"{address.origin}/{address.path}".lower(), githost.get("branch") or "")
        return Source(address.path, location, _path_names(githost.get("path") or ""), _patterns(githost))
    return Source(url, (url.lower(), githost.get("branch") or ""), _path_names(githost.get("path") or ""), _patterns(githost))


def _patterns(config: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(config.get(name) or ()) for name in ("include", "exclude"))


def _path_names(path: str) -> tuple[str, ...]:
    """Return the names in a path. Repeated slashes, and those at the ends, do not count."""
    return tuple(name for name in path.split("/") if name)


def admit_repository(draft: Draft, settings: AdmissionSettings) -> None:
    """Check a spec that is valid by the model RepositorySpec, and add a cause for each fault."""
    spec = draft.spec
    if draft.name in RESERVED_NAMES:
        draft.invalid("metadata.name", draft.name, "Name is reserved, choose a different identifier")
    if not spec.get("title", "").strip():
        draft.required("spec.title", "a repository title must be given")
    _check_workflows(draft)
    _check_sync(draft)
    for other_type in RepositoryType:
        if other_type != spec["type"] and other_type in spec:
            draft.invalid(f"spec.{other_type}", "{…}", f"{other_type.capitalize()} config only valid when type is {other_type}")
    if spec["type"] == RepositoryType.LOCAL:
        _check_local(draft, settings)
    else:
        _check_git(draft, spec["type"])
    _check_selection(draft, spec["type"])
    check_receivers(draft, settings.allowed_hosts)
    if draft.old_spec is not None and _is_local(draft.old_spec) != _is_local(spec):
        draft.forbidden("spec.type", "Changing the repository type is not supported; delete the repository and create a new one")


def _check_workflows(draft: Draft) -> None:
    """Check the workflows, which must be different and supported by the type of the repository."""
    workflows = draft.spec.get("workflows", [])
    for index, workflow in enumerate(workflows):
        if workflow in workflows[:index]:
            draft.duplicate(f"spec.workflows[{index}]", workflow)
    if "branch" in workflows and draft.spec["type"] == RepositoryType.LOCAL:
        draft.invalid("spec.workflow", "branch", "branch is only supported on git repositories")


def _check_sync(draft: Draft) -> None:
    """Check the interval of syncs."""
    sync = draft.spec["sync"]
    interval = sync.get("intervalSeconds") or 0
    if interval < 0:
        draft.invalid("spec.sync.intervalSeconds", interval, "Interval must not be negative; 0 means no periodic sync")
    elif sync.get("enabled") and 0 < interval < MIN_SYNC_INTERVAL_SECONDS:
        draft.invalid("spec.sync.intervalSeconds", interval, f"Interval must be at least {MIN_SYNC_INTERVAL_SECONDS} seconds")


def _is_local(spec: Mapping[str, Any]) -> bool:
    return spec.get("type") == RepositoryType.LOCAL


def _check_git(draft: Draft, git_type: str) -> None:
    """Check the configuration of a repository on a git host. ``git_type`` is its member of the spec."""
    config = draft.spec.get(git_type)
    if config is None:
        draft.required(f"spec.{git_type}", f"a {git_type} config is required")
        return
    if config.get("url"):
        config["url"] = normalize_url(config["url"])
    url = config.get("url") or ""
    if is_ssh_form(url):
        _check_ssh(draft, git_type, config)
    else:
        _check_url(draft, git_type, url)
        if config.get("knownHosts"):
            draft.forbidden(f"spec.{git_type}.knownHosts", "only a repository with an SSH address has known hosts")
    branch = config.get("branch") or ""
    if branch and not is_branch(branch):
        draft.invalid(f"spec.{git_type}.branch", branch, "invalid branch name")
    _check_signatures(draft, git_type, config)
    _check_directory(draft, git_type, config)


def _check_url(draft: Draft, git_type: str, url: str) -> None:
    """Check an http or https address of a repository."""
    field = f"spec.{git_type}.url"
    if not url:
        draft.required(field, "the address of a repository: https://host/path or ssh://git@host/path")
        return
    parts = split_url(url)
    # Errors do not repeat the part before an @, which may be a token.
    if parts is None or len(url) > MAX_URL_LENGTH or not url.isprintable() or " " in url:
        excerpt = (url.partition("@")[2] or url)[:_MAX_EXCERPT_LENGTH]
        draft.invalid(field, excerpt, "give the address of a repository: https://host[:port]/path")
    elif parts.username is not None or parts.password is not None:
        draft.invalid(field, parts.hostname, "leave user and password out of the address; set the token as secure.token.create")
    elif parts.query or parts.fragment:
        draft.invalid(field, url[:_MAX_EXCERPT_LENGTH], "leave out what follows ? or #")
    elif any(unquote(part) in (".", "..") for part in parts.path.split("/")):
        # The host resolves these parts, so that the same repository would have many addresses.
        draft.invalid(field, url[:_MAX_EXCERPT_LENGTH], "leave out . and .. from the path")
    elif not parts.path.strip("/"):
        draft.invalid(field, url[:_MAX_EXCERPT_LENGTH], "the path of the repository is missing: https://host/path")


def _check_ssh(draft: Draft, git_type: str, config: Mapping[str, Any]) -> None:
    """Check an SSH address and its known hosts, and require a key."""
    field, url = f"spec.{git_type}.url", config["url"]
    address = parse_git_address(url)
    if address is None or len(url) > MAX_URL_LENGTH or " " in url:
        # A password may precede the @.
        message = "give the address of a repository: ssh://user@host[:port]/path or user@host:path"
        draft.invalid(field, url.rpartition("@")[2][:_MAX_EXCERPT_LENGTH], message)
    elif not address.path:
        draft.invalid(field, url[:_MAX_EXCERPT_LENGTH], "the path of the repository is missing: ssh://git@host/path or git@host:path")
    if not config.get("encryptedSshKey"):
        draft.required("secure.sshKey", "an SSH address needs a deploy key: send it as secure.sshKey.create")
    try:
        check_known_hosts(config.get("knownHosts") or "")
    except ValueError as fault:
        draft.invalid(f"spec.{git_type}.knownHosts", "…", str(fault))


def _check_signatures(draft: Draft, git_type: str, config: Mapping[str, Any]) -> None:
    """Check the allowed signers, and that required signatures can be made for each permitted write."""
    if not config.get("verify") and not config.get("allowedSigners"):
        return
    if config.get("verify") and draft.spec.get("workflows") and not config.get("encryptedSigningKey"):
        message = "commits of this server must be signed, too: send a key as secure.signingKey.create, or permit no workflows"
        draft.required("secure.signingKey", message)
    try:
        check_allowed_signers(config.get("allowedSigners") or "")
    except ValueError as fault:
        draft.invalid(f"spec.{git_type}.allowedSigners", "…", str(fault))


def _check_directory(draft: Draft, git_type: str, config: dict[str, Any]) -> None:
    """Check the directory of a branch. The root is stored as a missing path."""
    path = config.pop("path", "").strip("/")
    if not path:
        return
    config["path"] = path
    try:
        paths.check_path(path)
    except BadRequest as fault:
        draft.invalid(f"spec.{git_type}.path", path[:_MAX_EXCERPT_LENGTH], fault.message)


def _check_selection(draft: Draft, section: str) -> None:
    """Check ``include`` and ``exclude`` in a section of the spec. An empty list counts as missing and is removed."""
    config = draft.spec.get(section) or {}
    for name in ("include", "exclude"):
        patterns = config.get(name)
        if not patterns:
            config.pop(name, None)
            continue
        field = f"spec.{section}.{name}"
        if len(patterns) > MAX_PATTERNS:
            draft.invalid(field, len(patterns), f"at most {MAX_PATTERNS} patterns")
        for index, pattern in enumerate(patterns[:MAX_PATTERNS]):
            try:
                Pattern.parse(pattern)
            except BadRequest as fault:
                draft.invalid(f"{field}[{index}]", pattern[:_MAX_EXCERPT_LENGTH], fault.message)


def _check_local(draft: Draft, settings: AdmissionSettings) -> None:
    """Check the directory of a local repository."""
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
        message = f"the path given ('{path}') is invalid for a local repository (no permitted prefixes were configured)"
        draft.invalid("spec.local.path", path, message)
        return
    if resolve_local(path, settings.permitted_paths) is None:
        permitted_paths = ", ".join(settings.permitted_paths)
        draft.invalid(
            "spec.local.path", path, f"the path must be inside a permitted folder (DASHWRIGHT_PERMITTED_PATHS: {permitted_paths})"
        )


def resolve_local(path: str, permitted_paths: tuple[str, ...]) -> str | None:
    """Return the absolute folder of a local repository, or None if it is outside the permitted folders.

    A relative path starts at the first permitted folder. Symlinks are not resolved here but when the folder is read.
    """
    if not permitted_paths:
        return None
    absolute = path if path.startswith("/") else f"{permitted_paths[0].rstrip('/')}/{path}"
    normalized = "/" + "/".join(_path_names(absolute))
    roots = [permitted_path.rstrip("/") for permitted_path in permitted_paths]
    is_permitted = any(normalized == root or normalized.startswith(root + "/") for root in roots)
    return normalized if is_permitted else None
