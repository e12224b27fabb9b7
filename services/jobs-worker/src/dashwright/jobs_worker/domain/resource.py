"""The bytes of a file to the resource they describe. Only dashboards come from files: folders come from directories."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dashwright.common.document import check_depth, check_texts, read_json, write_json
from dashwright.common.errors import Invalid, TooLarge
from dashwright.common.jobs.names import object_name
from dashwright.common.kinds import rendering
from dashwright.common.kinds.annotations import NUMBER_LABEL
from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.jobs_worker.domain.objects import Key
from dashwright.jobs_worker.domain.ownership import SET_BY_US

LARGEST_FILE = 5 * 1024 * 1024
LARGEST_METADATA = 256 * 1024
CLASSIC_VERSION = "v0alpha1"
_CLASSIC_MARKS = frozenset({"panels", "schemaVersion", "tags"})
_KEPT_BY_THE_STORE = ("id", "uid", "version")
_WHAT_BELONGS_HERE = "a file holds either a dashboard's JSON (title, panels, …) or a resource with apiVersion, kind, metadata and spec"


@dataclass(frozen=True, slots=True)
class Resource:
    """A dashboard as its file describes it. ``spec`` is compact JSON; labels and annotations are the user's own."""

    key: Key
    kind: str
    version: str
    extract: Extract
    spec: bytes
    labels: Mapping[str, str]
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the files of one repository. ``read_yaml`` turns YAML text into plain JSON data and raises Invalid."""

    namespace: str
    repository: str
    read_yaml: Callable[[str], Any]
    admission: AdmissionSettings
    largest: int = LARGEST_FILE

    def read(self, path: str, body: bytes) -> Resource:
        """Raises Invalid, BadRequest (name and title rules) or TooLarge; the text says what to change in the file."""
        check_size(len(body), self.largest)
        tree = self._tree(path, _text(body))
        if not isinstance(tree, dict):
            raise Invalid(f"not an object: {_WHAT_BELONGS_HERE}")
        check_depth(tree)
        if "apiVersion" in tree or "kind" in tree:
            return self._native(path, tree)
        if _CLASSIC_MARKS & tree.keys() or {"title", "uid"} <= tree.keys():
            return self._classic(path, tree)
        raise Invalid(f"unknown content: {_WHAT_BELONGS_HERE}")

    def _tree(self, path: str, text: str) -> Any:
        return read_json(text) if path.endswith(".json") else self.read_yaml(text)

    def _classic(self, path: str, spec: dict[str, Any]) -> Resource:
        name = _optional_text(spec, "uid", "uid") or object_name(self.repository, path)
        return self._admit(CLASSIC_VERSION, name, spec, {}, {})

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

    def _admit(self, version: str, name: str, spec: dict[str, Any], labels: dict[str, str], annotations: dict[str, str]) -> Resource:
        if not DASHBOARD.extract(spec).layout:
            spec = {key: value for key, value in spec.items() if key not in _KEPT_BY_THE_STORE}
        draft = Draft(name, self.namespace, spec, labels, annotations, version=version)
        if DASHBOARD.admit:
            DASHBOARD.admit(draft, self.admission)
        if draft.causes:
            raise Invalid("; ".join(f"{cause.field}: {cause.message}" for cause in draft.causes), causes=draft.causes)
        extract = DASHBOARD.extract(spec)
        check_texts([extract.title, draft.labels, draft.annotations])
        for texts in (draft.labels, draft.annotations):
            if sum(len(name) + len(text) for name, text in texts.items()) > LARGEST_METADATA:
                raise TooLarge(f"labels or annotations hold more than {LARGEST_METADATA} characters; keep notes of that size elsewhere")
        key = Key(DASHBOARD.group, DASHBOARD.plural, name)
        stored_version = rendering.stored_version(DASHBOARD, version, extract)
        return Resource(key, DASHBOARD.kind, stored_version, extract, write_json(spec), draft.labels, draft.annotations)


def check_size(size: int, largest: int) -> None:
    if size > largest:
        raise TooLarge(f"file has {size} bytes, at most {largest} are read: make it smaller or raise the limit")


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise Invalid(f"not UTF-8 at byte {fault.start}: save the file as UTF-8") from fault


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
