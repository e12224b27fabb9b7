"""Options of a write that change what it does: dry runs, and the preconditions of a delete."""

from dataclasses import dataclass

import orjson

from dashwright.api.http.call import Call
from dashwright.common.errors import BadRequest, Conflict
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores.resources import Stored


@dataclass(frozen=True, slots=True)
class Preconditions:
    """What the caller of a delete takes the object to be; empty texts stand for anything."""

    uid: str = ""
    resource_version: str = ""

    def check(self, kind: Kind, stored: Stored) -> None:
        """Raises Conflict where the object is another by now."""
        for name, wanted, found in (
            ("UID", self.uid, str(stored.uid)),
            ("ResourceVersion", self.resource_version, str(stored.resource_version)),
        ):
            if wanted and wanted != found:
                told = f"Precondition failed: {name} in precondition: {wanted[:80]}, {name} in object meta: {found}"
                raise Conflict(
                    f'Operation cannot be fulfilled on {kind.key} "{stored.name}": {told}',
                    details={"name": stored.name, "group": kind.group, "kind": kind.plural},
                )


def refuse_dry_run(call: Call) -> None:
    """A dry run that is not served must not write."""
    if call.query.get("dryRun"):
        raise BadRequest("dryRun is not served yet; nothing was written")


async def preconditions_of(call: Call) -> Preconditions:
    """Reads the DeleteOptions of a request, which may have none."""
    body = await call.body()
    if not body.strip():
        return Preconditions()
    try:
        options = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the body is no DeleteOptions: {error}") from error
    if not isinstance(options, dict):
        raise BadRequest("the body must be a DeleteOptions object, or empty")
    if options.get("dryRun"):
        raise BadRequest("dryRun is not served yet; nothing was deleted")
    wanted = options.get("preconditions") or {}
    if not isinstance(wanted, dict):
        raise BadRequest("preconditions must be an object with uid and resourceVersion")
    return Preconditions(str(wanted.get("uid") or ""), str(wanted.get("resourceVersion") or ""))
