"""Reader of the files of a repository: it returns the object that a file describes, after the checks that the API makes, too."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import orjson

from dashwright.common import json_documents
from dashwright.common.errors import Invalid, TooLarge
from dashwright.common.jobs import paths
from dashwright.common.jobs.names import object_name
from dashwright.common.json_documents import check_strings, read_shallow_json, write_json
from dashwright.common.kinds.annotations import CLASSIC_ID_LABEL
from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.kind import Extract, Kind
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.yaml import read_yaml
from dashwright.jobs_worker.domain.file_forms import MAX_FILE_BYTES, check_namespace, check_size, decode_text, is_resource, unwrap_dashboard
from dashwright.jobs_worker.domain.file_kinds import kind_and_version, kind_of_plural
from dashwright.jobs_worker.domain.objects import Key
from dashwright.jobs_worker.domain.ownership import SYSTEM_ANNOTATIONS
from dashwright.jobs_worker.domain.recognition import NoResource, require_possible_resource, require_resource

MAX_METADATA_CHARACTERS = 256 * 1024
"""Limit on the characters of the labels of an object, and on those of its annotations."""

MAX_FOLDER_DEPTH = 8
"""Default limit on the levels of directories that become folders."""

CLASSIC_VERSION = "v0alpha1"
"""API version of a dashboard whose file is classic."""

_WORKER_VERSION = version("dashwright-jobs-worker")
STORE_KEYS = ("id", "uid", "version")
"""Members of a classic spec that the store sets. The store keeps their values in the metadata of the object."""


@dataclass(frozen=True, slots=True)
class Resource:
    """An object as its file describes it."""

    key: Key
    kind: str
    version: str
    #: Values of the spec that are also stored in columns, such as the title.
    extract: Extract
    #: Compact JSON.
    spec: bytes
    #: Labels of the file, without those that only the store sets.
    labels: Mapping[str, str]
    #: Annotations of the file, without those that only the store and the sync set.
    annotations: Mapping[str, str]
    #: ``True`` if the file is the dashboard's own JSON, not a resource around it.
    is_classic: bool = False

    def to_bytes(self) -> bytes:
        """Return bytes for ``resource_from_bytes``: a line of JSON without the spec, then the spec."""
        members = (
            self.key.resource,
            self.key.name,
            self.kind,
            self.version,
            tuple(self.extract),
            self.labels,
            self.annotations,
            self.is_classic,
        )
        return b"\n".join((orjson.dumps(members), self.spec))


def resource_from_bytes(data: bytes) -> Resource:
    """Return the resource that ``Resource.to_bytes`` wrote into ``data``."""
    members, _, spec = data.partition(b"\n")
    plural, name, kind, version, extract, labels, annotations, is_classic = orjson.loads(members)
    key = Key(kind_of_plural(plural).group, plural, name)
    return Resource(key, kind, version, Extract(*extract), spec, labels, annotations, is_classic)


def rules_fingerprint(admission: AdmissionSettings, max_file_bytes: int, max_folder_depth: int) -> str:
    """Return a string that changes with the rules for files. When it changes, refused files are examined again."""
    return f"{_WORKER_VERSION} {admission.min_refresh_seconds} {max_file_bytes} {max_folder_depth}"


@dataclass(frozen=True, slots=True)
class ResourceReader:
    """A reader of the resources in the files of one repository."""

    namespace: str
    repository: str
    admission: AdmissionSettings
    max_file_bytes: int = MAX_FILE_BYTES
    max_folder_depth: int = MAX_FOLDER_DEPTH
    #: ``True`` if resources need a name, because the path of their file does not identify them.
    needs_names: bool = False

    def read(self, path: str, body: bytes) -> Resource:
        """Return the resource in a file.

        Raises NoResource if the file has none. Raises Invalid, TooLarge or BadRequest (for the name, title or depth) with a message that
        says what to change in the file.
        """
        check_size(len(body), self.max_file_bytes)
        return self.read_text(path, decode_text(body))

    def read_text(self, path: str, text: str) -> Resource:
        """Return the resource in the text of a file or of one of its documents. Raises the errors of ``read``."""
        if not text.strip():
            raise NoResource("the file is empty")
        try:
            tree = _parse(path, text)
        except Invalid as fault:
            require_possible_resource(path, text, fault)
            raise
        require_resource(tree)
        resource = self._from_resource(path, tree) if is_resource(tree) else self._from_classic(path, unwrap_dashboard(tree) or tree)
        paths.check_depth(path, self.max_folder_depth)
        return resource

    def tree(self, path: str, body: bytes) -> Any:
        """Return the parsed content of a file, which need not be a resource.

        Raises Invalid if the content does not fit the file's suffix or is nested too deeply.
        """
        return _parse(path, decode_text(body))

    def _from_classic(self, path: str, spec: dict[str, Any]) -> Resource:
        name = _optional_string(spec, "uid", "uid") or self._generated_name(path, "uid")
        return self._admit(DASHBOARD, CLASSIC_VERSION, name, spec, {}, {}, is_classic=True)

    def _from_resource(self, path: str, tree: dict[str, Any]) -> Resource:
        kind, version = kind_and_version(tree.get("apiVersion"), tree.get("kind"))
        metadata = _mapping(tree, "metadata")
        spec = tree.get("spec")
        if not isinstance(spec, dict):
            raise Invalid(f"spec is missing: it must be an object that holds the {kind.kind}")
        check_namespace(_optional_string(metadata, "namespace", "metadata.namespace"), self.namespace)
        name = _optional_string(metadata, "name", "metadata.name") or self._generated_name(path, "metadata.name")
        labels = {key: value for key, value in _string_map(metadata, "labels").items() if key != CLASSIC_ID_LABEL}
        annotations = {key: value for key, value in _string_map(metadata, "annotations").items() if key not in SYSTEM_ANNOTATIONS}
        return self._admit(kind, version, name, spec, labels, annotations)

    def _generated_name(self, path: str, field: str) -> str:
        """Return the name of an object by the path of its file. Raises Invalid, with the missing ``field``, if a name is needed."""
        if self.needs_names:
            raise Invalid(f"{field} is missing: each document of a file with several documents needs a name")
        return object_name(self.repository, path)

    def _admit(
        self,
        kind: Kind,
        version: str,
        name: str,
        spec: dict[str, Any],
        labels: dict[str, str],
        annotations: dict[str, str],
        *,
        is_classic: bool = False,
    ) -> Resource:
        """Return the resource after the admission of its kind. Raises Invalid or TooLarge."""
        extract = kind.extract(spec)
        # Only a classic spec, which has no layout, contains members that the store sets.
        if kind is DASHBOARD and not extract.layout:
            spec = {key: value for key, value in spec.items() if key not in STORE_KEYS}
        draft = Draft(name, self.namespace, spec, labels, annotations, version=version)
        if kind.admit:
            kind.admit(draft, self.admission)
        if draft.causes:
            raise Invalid("; ".join(f"{cause.field}: {cause.message}" for cause in draft.causes), causes=draft.causes)
        check_strings([extract.title, draft.labels, draft.annotations])
        for mapping in (draft.labels, draft.annotations):
            if sum(len(key) + len(value) for key, value in mapping.items()) > MAX_METADATA_CHARACTERS:
                raise TooLarge(
                    f"labels or annotations hold more than {MAX_METADATA_CHARACTERS} characters; keep notes of that size elsewhere"
                )
        key = Key(kind.group, kind.plural, name)
        stored_version = kind.stored_version(version, extract)
        return Resource(key, kind.kind, stored_version, extract, write_json(draft.spec), draft.labels, draft.annotations, is_classic)


def _parse(path: str, text: str) -> Any:
    if path.endswith(".json"):
        return read_shallow_json(text)
    tree = read_yaml(text)
    json_documents.check_depth(tree)
    return tree


def _mapping(tree: dict[str, Any], field: str) -> dict[str, Any]:
    """Return an object member, empty if it is missing or null. Raises Invalid for any other value."""
    value = tree.get(field)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Invalid(f"{field} must be an object")
    return value


def _optional_string(tree: dict[str, Any], field: str, displayed_name: str) -> str:
    """Return a string member, empty if it is missing or null. Raises Invalid, with ``displayed_name``, for any other value."""
    value = tree.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Invalid(f"{displayed_name} must be a string in quotes")
    return value


def _string_map(metadata: dict[str, Any], field: str) -> dict[str, str]:
    """Return labels or annotations, empty if they are missing. Raises Invalid if a value is not a string."""
    mapping = _mapping(metadata, field)
    if invalid_keys := [key for key, value in mapping.items() if not isinstance(value, str)]:
        raise Invalid(f"metadata.{field}[{invalid_keys[0]!r}] must be a string in quotes")
    return mapping
