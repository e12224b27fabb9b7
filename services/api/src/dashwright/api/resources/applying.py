"""Server-side apply: what an object is to be by a part of it that somebody sends, and who owns which field then."""

from dataclasses import replace
from typing import Any, Final

import orjson

from dashwright.api.domain.fields import ownership
from dashwright.api.domain.fields.managers import managed_fields_json, managers_of
from dashwright.api.domain.fields.tracked import CONSUMED, tracked_fields
from dashwright.api.resources import objects, rules
from dashwright.api.resources.objects import ApplyConfiguration
from dashwright.api.resources.writing import owners
from dashwright.api.resources.writing.desired_object import DesiredObject
from dashwright.common.document import read_json, same
from dashwright.common.errors import Invalid
from dashwright.common.kinds import rendering
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores.resources import Stored

KUBECTL: Final = "kubectl"
"""The manager that takes up what the same program applied by other means before."""

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def new_object(
    config: ApplyConfiguration, kind: Kind, namespace: str, version: str, name: str, writer: ownership.FieldManager
) -> DesiredObject:
    """The object that an apply makes where there is none."""
    done = ownership.apply(None, tracked_fields(config.tree), (), writer, owners.set_lists(kind))
    metadata = {**(config.tree.get("metadata") or {}), "name": name, "managedFields": managed_fields_json(done.managers)}
    return replace(objects.read_new({**config.tree, "metadata": metadata}, kind, namespace, version), warnings=config.warnings)


def updated_object(config: ApplyConfiguration, version: str, writer: ownership.FieldManager, force: bool, stored: Stored) -> DesiredObject:
    """What an apply makes of a stored object. Raises Conflict where others own what would change; what a repository manages keeps no owners
    of its fields.
    """
    kind = stored.kind
    metadata: dict[str, Any] = orjson.loads(stored.metadata)
    shown = rendering.shown(kind, stored.body, version).spec
    sent = tracked_fields(config.tree)
    body = read_json(shown)
    if stored.layout and shown != stored.spec:
        # The version shows a stub: the body is what changes, and the stub, sent back, says nothing of it.
        if same(sent.get("spec"), body):
            del sent["spec"]
        body = read_json(stored.spec)
    done = ownership.apply(
        owners.tree_of(metadata, body),
        sent,
        managers_of(metadata.get("managedFields")),
        writer,
        owners.set_lists(kind),
        force=force or rules.manager_of(stored) is not None,
        yielded=_last_applied(metadata) if writer.manager == KUBECTL else None,
    )
    owned = done.tree.get("metadata", {})
    said = (config.tree.get("metadata") or {}).get("annotations") or {}
    annotations = owned.get("annotations", {}) | {key: text for key, text in said.items() if key in CONSUMED}
    tree = {
        "metadata": {**owned, "annotations": annotations, "managedFields": managed_fields_json(done.managers)},
        "spec": done.tree.get("spec", {}),
        "secure": config.tree.get("secure"),
    }
    wanted = objects.read_update(tree, kind, stored.namespace, version, stored.name).wanted
    return replace(wanted, warnings=config.warnings)


def _last_applied(metadata: dict[str, Any]) -> dict[str, Any] | None:
    """The configuration that kubectl applied before it left that to servers."""
    text = metadata.get("annotations", {}).get(_LAST_APPLIED)
    try:
        tree = read_json(text) if text else None
    except Invalid:
        return None
    return tracked_fields(tree) if isinstance(tree, dict) else None
