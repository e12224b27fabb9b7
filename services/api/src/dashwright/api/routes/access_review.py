"""The Kubernetes API that reviews the caller's permissions, as ``kubectl auth can-i`` uses it."""

from collections.abc import Sequence
from typing import Any, Final

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.http.authentication import IdentityViews
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import SIGNED_IN, Content, Operation, Route
from dashwright.api.models.discovery import SelfSubjectAccessReview
from dashwright.api.resources import descriptions, formats, options
from dashwright.common.database.pool import Database
from dashwright.common.document import check_texts
from dashwright.common.errors import BadRequest, Invalid
from dashwright.common.identity import Identity, org_of
from dashwright.common.kinds.kind import Kind
from dashwright.common.media import JSON, YAML
from dashwright.common.stores import resources

_PATH: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_ALL: Final = "*"
_OPERATION: Final = Operation(
    "reviewOwnAccess",
    "review the caller's own access",
    "discovery",
    request=Content(SelfSubjectAccessReview, (JSON, YAML)),
    responses={201: SelfSubjectAccessReview},
    query={"dryRun": "All: accepted; a review never stores anything"},
    parameters=descriptions.parameter_types(descriptions.DRY_RUN),
    description="A SelfSubjectAccessReview of authorization.k8s.io/v1; `spec.resourceAttributes` names the action. Nothing is stored.",
)


def routes(kinds: Sequence[Kind], database: Database, policy: AccessPolicy, views: IdentityViews) -> list[Route]:
    """Return the route."""

    async def create(call: Call) -> Response:
        options.is_dry_run(call)
        asked = _spec(await formats.read_body(call))
        reason = await _refusal(asked.get("resourceAttributes"), call.identity)
        status = {"allowed": True} if reason is None else {"allowed": False, "reason": reason}
        review = {
            "kind": "SelfSubjectAccessReview",
            "apiVersion": "authorization.k8s.io/v1",
            "metadata": {},
            "spec": asked,
            "status": status,
        }
        return json_response(review, 201)

    async def _refusal(attributes: Any, caller: Identity) -> str | None:
        """Return the reason for a denial, or None if the caller is allowed."""
        if attributes is None:
            return "only resourceAttributes can be reviewed"
        wanted = _ResourceAttributes(attributes)
        found = [kind for kind in kinds if wanted.group in (_ALL, kind.group) and wanted.resource in (_ALL, kind.plural)]
        if not found:
            return f'there is no resource "{wanted.resource}" in the group "{wanted.group}"'
        org_id = org_of(wanted.namespace) if wanted.namespace else caller.org_id
        if not org_id:
            return f'there is no namespace "{wanted.namespace}"; use "default" or "org-N"'
        seen = await views.seen_in(caller, org_id)
        for kind in found:
            for action in _actions(kind, wanted):
                if action is None:
                    return (
                        f'{kind.key} do not support "{wanted.verb}" of "{wanted.below}"'
                        if wanted.below
                        else f'{kind.key} do not support "{wanted.verb}"'
                    )
                if not await _may(kind, action, wanted.name, seen):
                    return f"{caller.login} needs {action}"
        return None

    async def _may(kind: Kind, action: str, name: str, caller: Identity) -> bool:
        if not kind.in_folder:
            return caller.may(action)
        view = await policy.view(caller, caller.namespace)
        if not name:
            return view.holds(action)
        async with database.connection() as connection:
            found = await resources.get_many(connection, kind, caller.namespace, [name])
        return view.may(action, kind, name, found[0].folder if found else None)

    return [Route("POST", _PATH, create, SIGNED_IN, _OPERATION)]


class _ResourceAttributes:
    """The ``resourceAttributes`` of a review. Missing attributes are empty."""

    def __init__(self, attributes: Any) -> None:
        self.namespace, self.verb, self.group = _text(attributes, "namespace"), _text(attributes, "verb"), _text(attributes, "group")
        self.resource, self.below, self.name = _text(attributes, "resource"), _text(attributes, "subresource"), _text(attributes, "name")


def _actions(kind: Kind, wanted: _ResourceAttributes) -> list[str | None]:
    """Return the required actions; None stands for a verb or subresource that the kind does not have."""
    if wanted.below not in ("", "status"):
        return [next((sub.action for sub in kind.subresources if sub.name == wanted.below), None)]
    if wanted.verb == _ALL:
        return [kind.actions[verb] for verb in sorted(kind.verbs)]
    return [kind.actions[wanted.verb] if wanted.verb in kind.verbs else None]


def _spec(tree: Any) -> dict[str, Any]:
    try:
        check_texts(tree)
    except Invalid as error:
        raise BadRequest(error.message) from error
    spec = tree.get("spec") if isinstance(tree, dict) else None
    if not isinstance(spec, dict):
        raise BadRequest("the body must be a SelfSubjectAccessReview with a spec")
    return spec


def _text(attributes: Any, name: str) -> str:
    found = attributes.get(name) if isinstance(attributes, dict) else None
    return found if isinstance(found, str) else ""
