"""Events as plain JSON."""

from dataclasses import dataclass

import orjson

from dashwright.api.http.call import Call
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores.jobs import StoredJob
from dashwright.common.stores.resources import Stored


@dataclass(frozen=True, slots=True)
class Format:
    content_type: str = "application/json"

    def needs_body(self, kind: Kind) -> bool:
        return True


def format_of(call: Call, *, streamed: bool) -> Format:
    return Format()


def event(form: Format, kind: Kind, version: str, happened: str, item: Stored | StoredJob | bytes, *, with_columns: bool) -> bytes:
    shown = item if isinstance(item, bytes) else item.encode() if isinstance(item, StoredJob) else item.encode(version)
    return b'{"type":"' + happened.encode() + b'","object":' + shown + b"}\n"


def bookmark(form: Format, kind: Kind, version: str, resource_version: int, *, ends_initial: bool) -> bytes:
    metadata: dict[str, object] = {"resourceVersion": str(resource_version)}
    if ends_initial:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    marked = orjson.dumps({"kind": kind.kind, "apiVersion": kind.api_version(version), "metadata": metadata})
    return event(form, kind, version, "BOOKMARK", marked, with_columns=False)
