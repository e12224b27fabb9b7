"""Declaration of one repository in a document of a file."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from dashwright.api.repositories.provisioning.expansion import expand_secrets
from dashwright.api.resources import objects
from dashwright.api.resources.options import FieldValidation
from dashwright.api.resources.writing.desired_object import DesiredObject
from dashwright.common.errors import Invalid
from dashwright.common.json_documents import canonical_json
from dashwright.common.kinds.annotations import FILE_PROVISIONER, FROM_FILE, MANAGED_BY, MANAGER_ID, SET_BY_MANAGER, SOURCE_PATH
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.kinds.repository import GIT_TYPES

#: Versions of repositories, by ``apiVersion``.
_VERSIONS: Final[Mapping[str, str]] = {REPOSITORY.api_version(version): version for version in REPOSITORY.versions}
_LIST_KIND: Final = f"{REPOSITORY.kind}List"
#: Version and kind of the lists that kubectl writes.
_MIXED_LIST: Final = ("v1", "List")
#: Members of the metadata that are read. Members that the server sets are ignored, so that a file may be a response of the API.
_METADATA_MEMBERS: Final = ("labels", "annotations", "finalizers", "ownerReferences")


@dataclass(frozen=True, slots=True)
class Declaration:
    """A repository that a file declares."""

    #: The path of the file, relative to the directory of files.
    file: str
    namespace: str
    name: str
    version: str
    #: The members that a file may set: metadata, spec and secure. Secrets are not expanded yet.
    tree: Mapping[str, Any]

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.namespace, self.name

    def expanded(self, environment: Mapping[str, str]) -> "Declaration":
        """Return the declaration with its secrets. Reads files. Raises Invalid for a missing file or variable."""
        secure = expand_secrets(self.tree.get("secure"), environment)
        return replace(self, tree={**self.tree, "secure": secure})

    def fingerprint(self) -> str:
        """Return a digest of everything that is declared. Raises Invalid for a value that JSON cannot represent."""
        return hashlib.sha256(canonical_json([self.file, self.version, self.tree])).hexdigest()

    def desired_object(self) -> DesiredObject:
        """Return the object to store, with the file as its manager. Raises BadRequest, Invalid and TooLarge for a faulty object.

        A secret that is not declared is removed, because the file declares the complete state.
        """
        tree = {**self.tree, "secure": _complete_secure(self.tree)}
        desired = objects.read_update(tree, REPOSITORY, self.namespace, self.version, self.name, FieldValidation.WARN).desired
        manager = {MANAGED_BY: FROM_FILE, MANAGER_ID: FILE_PROVISIONER, SOURCE_PATH: self.file}
        annotations = {key: value for key, value in desired.annotations.items() if key not in SET_BY_MANAGER}
        return replace(desired, annotations=annotations | manager, finalizers=desired.finalizers or REPOSITORY.finalizers)


def declared_objects(document: Any) -> Sequence[Any]:
    """Return the objects of a document: the items of a list of objects, or else the document. Raises Invalid for a broken list."""
    if not isinstance(document, dict):
        return (document,)
    api_version, kind = document.get("apiVersion"), document.get("kind")
    if (api_version, kind) == _MIXED_LIST:
        defaults = {}
    elif kind == _LIST_KIND and isinstance(api_version, str) and api_version in _VERSIONS:
        # In lists of the API, items have neither apiVersion nor kind.
        defaults = {"apiVersion": api_version, "kind": REPOSITORY.kind}
    else:
        return (document,)
    items = document.get("items")
    if not isinstance(items, list):
        raise Invalid(f"items of the {kind} is not a list: give the repositories in items")
    return [{**defaults, **item} if isinstance(item, dict) else item for item in items]


def read_declaration(file: str, document: Any) -> Declaration:
    """Return the declaration in a document. Raises Invalid for a document that is not a Repository with a name."""
    if not isinstance(document, dict):
        raise Invalid("the document is not an object: write a Repository with apiVersion, kind, metadata and spec")
    api_version, kind = document.get("apiVersion"), document.get("kind")
    if kind != REPOSITORY.kind or not isinstance(api_version, str) or api_version not in _VERSIONS:
        sent_type = f"{str(kind)[:80]!r} of {str(api_version)[:80]!r}"
        raise Invalid(
            f"{sent_type} is not a {REPOSITORY.kind} of {', '.join(_VERSIONS)}: correct kind and apiVersion, or remove the document"
        )
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        raise Invalid("metadata is missing: give metadata.name")
    name, namespace = metadata.get("name"), metadata.get("namespace", "default")
    if not isinstance(name, str) or not name:
        raise Invalid("metadata.name is missing: give the name of the repository")
    if not isinstance(namespace, str) or not namespace:
        raise Invalid("metadata.namespace is not text: name an organization, such as 'default' or 'org-2', or leave it out")
    tree = {member: document[member] for member in ("spec", "secure") if member in document}
    tree["metadata"] = {member: metadata[member] for member in _METADATA_MEMBERS if member in metadata}
    return Declaration(file, namespace, name, _VERSIONS[api_version], tree)


def _complete_secure(tree: Mapping[str, Any]) -> Any:
    """Return the member ``secure`` of a declaration, extended by the removal of each secret that is not declared."""
    secure, spec = tree.get("secure") or {}, tree.get("spec")
    if not isinstance(secure, dict):
        return secure
    configs = [spec.get(name) for name in GIT_TYPES] if isinstance(spec, dict) else []
    # A token may also be in the configuration of the git host.
    has_token = any(isinstance(config, dict) and config.get("token") for config in configs)
    declared_names = {name for name, secret in secure.items() if secret} | ({"token"} if has_token else set())
    removals = {name: {"remove": True} for name in ("token", "sshKey", "signingKey") if name not in declared_names}
    return {**secure, **removals, **_complete_receiver_secrets(secure, spec)}


def _complete_receiver_secrets(secure: Mapping[str, Any], spec: Any) -> Mapping[str, Any]:
    """Return the member ``notifications`` of ``secure``, extended by the removal of each receiver's secret that is not declared.

    Return no member if the spec has no list of receivers, or ``secure`` has a malformed member.
    """
    receivers = spec.get("notifications") if isinstance(spec, dict) else None
    declared = secure.get("notifications") or {}
    if not isinstance(receivers, list) or not isinstance(declared, dict):
        return {}
    names = [name for receiver in receivers if isinstance(receiver, dict) and isinstance(name := receiver.get("name"), str)]
    return {"notifications": {**{name: {"remove": True} for name in names}, **declared}}
