"""The resource in the bytes of a file. Only dashboards come from files: folders come from directories."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import orjson

from dashwright.common.document import check_depth as check_nesting
from dashwright.common.document import check_texts, read_shallow, write_json
from dashwright.common.errors import Invalid, TooLarge
from dashwright.common.jobs.names import object_name
from dashwright.common.jobs.paths import check_depth
from dashwright.common.kinds import rendering
from dashwright.common.kinds.annotations import NUMBER_LABEL
from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.yaml import read_yaml
from dashwright.jobs_worker.domain.file_forms import LARGEST_FILE, check_size, decode_text, is_resource, unwrap_dashboard
from dashwright.jobs_worker.domain.objects import Key
from dashwright.jobs_worker.domain.ownership import SET_BY_US
from dashwright.jobs_worker.domain.recognition import NoResource, check_content, check_unreadable

LARGEST_METADATA = 256 * 1024
DEEPEST_FOLDER = 8
"""Levels of directories that become folders, unless the settings say otherwise."""
CLASSIC_VERSION = "v0alpha1"
_VERSION = version("dashwright-jobs-worker")
KEPT_BY_THE_STORE = ("id", "uid", "version")
"""Keys of a classic spec that the store keeps in the metadata."""

_WHAT_BELONGS_HERE = "a file holds either a dashboard's JSON (title, panels, …) or a resource with apiVersion, kind, metadata and spec"


@dataclass(frozen=True, slots=True)
class Resource:
    """A dashboard as its file describes it."""

    key: Key
    kind: str
    version: str
    extract: Extract
    #: Compact JSON.
    spec: bytes
    #: The user's own labels; annotations likewise.
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    #: The file holds the dashboard's own JSON.
    is_classic: bool = False

    def pack(self) -> bytes:
        """Return bytes for ``unpack``: one line with everything but the spec, and then the spec as it is."""
        members = (self.key.name, self.kind, self.version, tuple(self.extract), self.labels, self.annotations, self.is_classic)
        return b"\n".join((orjson.dumps(members), self.spec))


def unpack(packed: bytes) -> Resource:
    """Return the resource that was packed."""
    members, _, spec = packed.partition(b"\n")
    name, kind, version, extract, labels, annotations, is_classic = orjson.loads(members)
    key = Key(DASHBOARD.group, DASHBOARD.plural, name)
    return Resource(key, kind, version, Extract(*extract), spec, labels, annotations, is_classic)


def rules_fingerprint(admission: AdmissionSettings, largest: int, deepest: int) -> str:
    """Return a text that changes when files may be refused for other reasons: refused files are then examined again."""
    return f"{_VERSION} {admission.min_refresh_seconds} {largest} {deepest}"


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader of the files of one repository."""

    namespace: str
    repository: str
    admission: AdmissionSettings
    largest: int = LARGEST_FILE
    deepest: int = DEEPEST_FOLDER

    def read(self, path: str, body: bytes) -> Resource:
        """Return the resource in a file.

        Raises NoResource if the file has none, and Invalid, BadRequest (name, title, depth) or TooLarge with the change that the file
        needs.
        """
        check_size(len(body), self.largest)
        text = decode_text(body)
        if not text.strip():
            raise NoResource("the file is empty")
        try:
            tree = _parsed(path, text)
        except Invalid as fault:
            check_unreadable(path, text, fault)
            raise
        check_content(tree)
        resource = self._native(path, tree) if is_resource(tree) else self._classic(path, unwrap_dashboard(tree) or tree)
        check_depth(path, self.deepest)
        return resource

    def tree(self, path: str, body: bytes) -> Any:
        """Return the parsed file. Raises Invalid if the content does not fit the file's suffix or is nested too deeply."""
        return _parsed(path, decode_text(body))

    def _classic(self, path: str, spec: dict[str, Any]) -> Resource:
        name = _optional_text(spec, "uid", "uid") or object_name(self.repository, path)
        return self._admit(CLASSIC_VERSION, name, spec, {}, {}, is_classic=True)

    def _native(self, path: str, tree: dict[str, Any]) -> Resource:
        version = _version(tree)
        metadata = _mapping(tree, "metadata")
        spec = tree.get("spec")
        if not isinstance(spec, dict):
            raise Invalid("spec is missing: it must be an object that holds the dashboard")
        namespace = _optional_text(metadata, "namespace", "metadata.namespace")
        if namespace and namespace != self.namespace:
            raise Invalid(
                f"metadata.namespace is {namespace!r}, but this repository writes into {self.namespace!r}: remove it or correct it"
            )
        name = _optional_text(metadata, "name", "metadata.name") or object_name(self.repository, path)
        labels = {key: text for key, text in _texts(metadata, "labels").items() if key != NUMBER_LABEL}
        annotations = {key: text for key, text in _texts(metadata, "annotations").items() if key not in SET_BY_US}
        return self._admit(version, name, spec, labels, annotations)

    def _admit(
        self,
        version: str,
        name: str,
        spec: dict[str, Any],
        labels: dict[str, str],
        annotations: dict[str, str],
        *,
        is_classic: bool = False,
    ) -> Resource:
        extract = DASHBOARD.extract(spec)
        if not extract.layout:
            spec = {key: value for key, value in spec.items() if key not in KEPT_BY_THE_STORE}
        draft = Draft(name, self.namespace, spec, labels, annotations, version=version)
        if DASHBOARD.admit:
            DASHBOARD.admit(draft, self.admission)
        if draft.causes:
            raise Invalid("; ".join(f"{cause.field}: {cause.message}" for cause in draft.causes), causes=draft.causes)
        check_texts([extract.title, draft.labels, draft.annotations])
        for texts in (draft.labels, draft.annotations):
            if sum(len(name) + len(text) for name, text in texts.items()) > LARGEST_METADATA:
                raise TooLarge(f"labels or annotations hold more than {LARGEST_METADATA} characters; keep notes of that size elsewhere")
        key = Key(DASHBOARD.group, DASHBOARD.plural, name)
        stored_version = rendering.stored_version(DASHBOARD, version, extract)
        return Resource(key, DASHBOARD.kind, stored_version, extract, write_json(spec), draft.labels, draft.annotations, is_classic)


def _parsed(path: str, text: str) -> Any:
    if path.endswith(".json"):
        return read_shallow(text)
    tree = read_yaml(text)
    check_nesting(tree)
    return tree


def _version(tree: dict[str, Any]) -> str:
    api_version, kind = tree.get("apiVersion"), tree.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        raise Invalid(f"apiVersion and kind must both be texts: {_WHAT_BELONGS_HERE}")
    group, _, version = api_version.partition("/")
    if group != DASHBOARD.group or kind != DASHBOARD.kind:
        raise Invalid(
            f"{kind} of {api_version} is not synced: files hold {DASHBOARD.kind} of {DASHBOARD.group}, folders come from directories"
        )
    if version not in DASHBOARD.versions:
        known = ", ".join(DASHBOARD.api_version(served) for served in DASHBOARD.versions)
        raise Invalid(f"apiVersion {api_version!r} is not served; known: {known}")
    return version


def _mapping(tree: dict[str, Any], field: str) -> dict[str, Any]:
    value = tree.get(field)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Invalid(f"{field} must be an object")
    return value


def _optional_text(tree: dict[str, Any], field: str, shown: str) -> str:
    value = tree.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Invalid(f"{shown} must be a text in quotes")
    return value


def _texts(metadata: dict[str, Any], field: str) -> dict[str, str]:
    texts = _mapping(metadata, field)
    if wrong := [key for key, value in texts.items() if not isinstance(value, str)]:
        raise Invalid(f"metadata.{field}[{wrong[0]!r}] must be a text in quotes")
    return texts
