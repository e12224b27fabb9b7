"""Rules of one submitted JobSpec."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import ValidationError

from dashwright.common.errors import Cause
from dashwright.common.job_actions import ACTIONS
from dashwright.common.json_documents import write_json
from dashwright.common.models.causes import causes_of
from dashwright.common.models.provisioning import Action, JobSpec

_ACTION_BY_OPTIONS_NAME: Final[Mapping[str, Action]] = {
    name: action for action in sorted(ACTIONS) for name in (action.value, ACTIONS[action].alias) if name
}
"""The action by the member of the spec that has its options: ``sync`` or its alias ``pull``, ``export`` or ``push``, and ``pr``."""


def read_job_spec(value: Mapping[str, Any], prefix: str) -> tuple[list[Cause], JobSpec | None]:
    """Return a pair: no causes and the spec, or the causes that make the spec invalid and None.

    The field of each cause begins with ``prefix``. If ``action`` is missing, the only member with options decides the action.
    """
    if causes := list(_duplicate_option_causes(value, prefix)):
        return causes, None
    if value.get("action") in (None, ""):
        options_names = [name for name in _ACTION_BY_OPTIONS_NAME if value.get(name) is not None]
        if len(options_names) > 1:
            message = "Required value: multiple job types found; give the action of one of them"
            return [Cause(f"{prefix}action", "FieldValueRequired", message)], None
        if not options_names:
            return [Cause(f"{prefix}action", "FieldValueRequired", f"Required value: one of {', '.join(sorted(ACTIONS))}")], None
        value = {**value, "action": _ACTION_BY_OPTIONS_NAME[options_names[0]].value}
    try:
        spec = validate(value)
    except ValidationError as error:
        return [Cause(prefix + cause.field, cause.reason, cause.message) for cause in causes_of(error) or ()], None
    causes = list(_spec_causes(spec, value, prefix))
    return causes, None if causes else spec


def validate(value: Mapping[str, Any]) -> JobSpec:
    """Return the JSON object ``value`` as a JobSpec. Raises ValidationError."""
    try:
        return JobSpec.model_validate(value)
    except ValidationError:
        # Parsed again as JSON: only then pydantic's messages name types as JSON does ("object", "array").
        return JobSpec.model_validate_json(write_json(value))


def _duplicate_option_causes(value: Mapping[str, Any], prefix: str) -> Iterator[Cause]:
    """Yield a cause for each member that the client sent under both of its names, since one of the values would be ignored."""
    for action, job_action in ACTIONS.items():
        name, alternative_name = action.value, job_action.alias
        if alternative_name and value.get(name) is not None and value.get(alternative_name) is not None:
            yield Cause(
                f"{prefix}{alternative_name}",
                "FieldValueForbidden",
                f"Forbidden: {alternative_name} and {name} are the same; give one of them",
            )
    for name, action in _ACTION_BY_OPTIONS_NAME.items():
        if isinstance(options := value.get(name), dict):
            yield from ACTIONS[action].duplicate_option_causes(options, name, prefix)


def _spec_causes(spec: JobSpec, value: Mapping[str, Any], prefix: str) -> Iterator[Cause]:
    """Yield a cause for missing options, for options of other actions, and for each fault in the options."""
    action = spec.action.value
    if getattr(spec, action) is None:
        message = f"Required value: a job with action {action} needs its options"
        yield Cause(
            f"{prefix}{action}",
            "FieldValueRequired",
            f"{message}; {{}} takes the defaults" if ACTIONS[spec.action].has_default_options else message,
        )
    for name, options_action in _ACTION_BY_OPTIONS_NAME.items():
        if options_action is not spec.action and value.get(name) is not None:
            message = f"Forbidden: a job with action {action} takes no options of {options_action.value}; leave them out"
            yield Cause(f"{prefix}{name}", "FieldValueForbidden", message)
    for job_action in ACTIONS.values():
        yield from job_action.spec_causes(spec, prefix)
