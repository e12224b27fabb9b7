"""The Kubernetes API that reviews the caller's permissions, as ``kubectl auth can-i`` uses it."""

from collections.abc import Sequence
from typing import Any, Final

from pydantic import ValidationError

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.http.authentication import OrganizationIdentities
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import SIGNED_IN, Content, Operation, Route
from dashwright.api.models.discovery import ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec
from dashwright.api.resources import descriptions, formats, options
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest, Invalid
from dashwright.common.identity import Identity, org_of
from dashwright.common.json_documents import check_strings, write_json
from dashwright.common.kinds.kind import Kind
from dashwright.common.media import JSON, YAML
from dashwright.common.models.causes import causes_of, sentence
from dashwright.common.stores import resources

_PATH: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_ANY: Final = "*"
_OPERATION: Final = Operation(
    "reviewOwnAccess",
    "review the caller's own access",
    "discovery",
    request=Content(SelfSubjectAccessReview, (JSON, YAML)),
    responses={201: SelfSubjectAccessReview},
    query={"dryRun": "All: accepted; a review never stores anything"},
    parameters=descriptions.parameter_types(descriptions.DRY_RUN_PARAMETER),
    description="A SelfSubjectAccessReview of authorization.k8s.io/v1; `spec.resourceAttributes` names the action. Nothing is stored.",
)


def routes(kinds: Sequence[Kind], database: Database, policy: AccessPolicy, organization_identities: OrganizationIdentities) -> list[Route]:
    """Return the route."""

    async def create(call: Call) -> Response:
        """Review the action in the body, and respond with the body's spec and the outcome."""
        options.is_dry_run(call)  # Only to raise BadRequest for an invalid value: a review never stores anything.
        spec = _checked_spec(await formats.read_body(call))
        reason = await _denial_reason(_parse_spec(spec).resource_attributes, call.identity)
        status = {"allowed": True} if reason is None else {"allowed": False, "reason": reason}
        review = {
            "kind": "SelfSubjectAccessReview",
            "apiVersion": "authorization.k8s.io/v1",
            "metadata": {},
            "spec": spec,
            "status": status,
        }
        # orjson cannot write the spec, which is from the request and may contain exact numbers.
        return Response(201, write_json(review), JSON)

    async def _denial_reason(resource_attributes: ResourceAttributes | None, caller: Identity) -> str | None:
        """Return the reason for a denial, or None if the caller is allowed."""
        if resource_attributes is None:
            return "only resourceAttributes can be reviewed"
        attributes = _ReviewedAction(resource_attributes)
        matching_kinds = _matching_kinds(kinds, attributes)
        if not matching_kinds:
            return f'there is no resource "{attributes.resource}" in the group "{attributes.group}"'
        org_id = org_of(attributes.namespace) if attributes.namespace else caller.org_id
        if not org_id:
            return f'there is no namespace "{attributes.namespace}"; use "default" or "org-N"'
        identity = await organization_identities.identity_in(caller, org_id)
        for kind in matching_kinds:
            for action in _required_actions(kind, attributes):
                if action is None:
                    subresource = f' of "{attributes.subresource}"' if attributes.subresource else ""
                    return f'{kind.key} do not support "{attributes.verb}"{subresource}'
                if not await _is_permitted(kind, action, attributes.name, identity):
                    return f"{caller.login} needs {action}"
        return None

    async def _is_permitted(kind: Kind, action: str, name: str, caller: Identity) -> bool:
        """Return whether the caller may do an action with an object, or without a name, with any object of the kind."""
        if not kind.in_folder:
            return caller.may(action)
        view = await policy.view(caller, caller.namespace)
        if not name:
            return view.may_on_any(action)
        async with database.connection() as connection:
            objects = await resources.get_many(connection, kind, caller.namespace, [name])
        # An object that does not exist is reviewed as if it were at the root.
        return view.may(action, kind, name, objects[0].folder if objects else None)

    return [Route("POST", _PATH, create, SIGNED_IN, _OPERATION)]


class _ReviewedAction:
    """The action that a review asks about. Missing attributes are empty."""

    def __init__(self, attributes: ResourceAttributes) -> None:
        self.namespace = attributes.namespace or ""
        self.verb = attributes.verb or ""
        self.group = attributes.group or ""
        self.resource = attributes.resource or ""
        self.subresource = attributes.subresource or ""
        self.name = attributes.name or ""


def _matching_kinds(kinds: Sequence[Kind], attributes: _ReviewedAction) -> list[Kind]:
    """Return the kinds with the group and the resource of the review.

    For the resource ``*``, only kinds that have the verb are returned, unless no kind has it.
    """
    matching_kinds = [kind for kind in kinds if attributes.group in (_ANY, kind.group) and attributes.resource in (_ANY, kind.plural)]
    kinds_with_verb = [kind for kind in matching_kinds if attributes.verb in kind.verbs]
    return kinds_with_verb if attributes.resource == _ANY and kinds_with_verb else matching_kinds


def _required_actions(kind: Kind, attributes: _ReviewedAction) -> list[str | None]:
    """Return the required actions, or [None] for a verb or subresource that the kind does not have."""
    # The status requires the same action as the object.
    if attributes.subresource not in ("", "status"):
        matching_actions = (subresource.action for subresource in kind.subresources if subresource.name == attributes.subresource)
        return [next(matching_actions, None)]
    if attributes.verb == _ANY:
        return [kind.actions[verb] for verb in sorted(kind.verbs)]
    return [kind.actions[attributes.verb] if attributes.verb in kind.verbs else None]


def _checked_spec(body: Any) -> dict[str, Any]:
    """Return the spec of the review in a body. Raises BadRequest for a body without a spec, and for unstorable strings."""
    try:
        check_strings(body)
    except Invalid as error:
        raise BadRequest(error.message) from error
    spec = body.get("spec") if isinstance(body, dict) else None
    if not isinstance(spec, dict):
        raise BadRequest("the body must be a SelfSubjectAccessReview with a spec")
    return spec


def _parse_spec(spec: dict[str, Any]) -> SelfSubjectAccessReviewSpec:
    """Return the parsed spec. Raises BadRequest for attributes that are not strings."""
    try:
        return SelfSubjectAccessReviewSpec.model_validate(spec)
    except ValidationError as error:
        raise BadRequest(f"the spec is invalid: {sentence(causes_of(error) or ())}") from error
