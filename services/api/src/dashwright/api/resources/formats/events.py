"""The lines of a watch."""

import orjson

from dashwright.api.resources.formats.lists import table
from dashwright.api.resources.formats.negotiation import Form, Format
from dashwright.api.resources.formats.parts import Item, encode, version_of
from dashwright.common.kinds.kind import Kind

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


def event(form: Format, kind: Kind, version: str, happened: str, item: Item, *, with_columns: bool) -> bytes:
    """One line: what ``happened`` to an object (``ADDED`` …). An ``ERROR`` is a Status as it is.

    ``with_columns``: the first event of a table tells its columns, no other needs them.
    """
    if happened == "ERROR" and isinstance(item, bytes):
        shown = item
    elif form.form is Form.TABLE:
        shown = table(form, kind, version, {"resourceVersion": version_of(item)}, [item], with_columns=with_columns)
    else:
        shown = encode(form, kind, version, item)
    return b'{"type":"' + happened.encode() + b'","object":' + shown + b"}\n"


def bookmark(form: Format, kind: Kind, version: str, resource_version: int, *, ends_initial: bool) -> bytes:
    """One line: up to which version everything was told; ``ends_initial``: and that what was there at the start is told, too."""
    metadata: dict[str, object] = {"resourceVersion": str(resource_version)}
    if ends_initial:
        metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
    marked = orjson.dumps({"kind": kind.kind, "apiVersion": kind.api_version(version), "metadata": metadata})
    return event(form, kind, version, "BOOKMARK", marked, with_columns=False)
