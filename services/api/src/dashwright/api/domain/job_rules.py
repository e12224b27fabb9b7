"""Rules of one submitted JobSpec."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import ValidationError

from dashwright.common.document import write_json
from dashwright.common.errors import Cause
from dashwright.common.job_actions import ACTIONS
from dashwright.common.models.causes import causes_of
from dashwright.common.models.provisioning import Action, JobSpec

_BLOCKS: Final[Mapping[str, Action]] = {
    word: action for action in sorted(ACTIONS) for word in (action.value, ACTIONS[action].later_word) if word
}
"""Blocks of options by their names and synonyms."""


def read(value: Mapping[str, Any], prefix: str) -> tuple[list[Cause], JobSpec | None]:
    """Return the spec, or the causes of its refusal. The path of each cause begins with ``prefix``."""
    if faults := list(_given_twice(value, prefix)):
        return faults, None
    if value.get("action") in (None, ""):
        blocks = [word for word in _BLOCKS if value.get(word) is not None]
        if len(blocks) > 1:
            text = "Required value: multiple job types found; name the one meant"
            return [Cause(f"{prefix}action", "FieldValueRequired", text)], None
        if not blocks:
            return [Cause(f"{prefix}action", "FieldValueRequired", f"Required value: one of {', '.join(sorted(ACTIONS))}")], None
        value = {**value, "action": blocks[0]}
    try:
        spec = validated(value)
    except ValidationError as error:
        return [Cause(prefix + cause.field, cause.reason, cause.message) for cause in causes_of(error) or ()], None
    faults = list(_faults(spec, value, prefix))
    return faults, None if faults else spec


def validated(value: Mapping[str, Any]) -> JobSpec:
    """Return the spec that a JSON tree holds. Raises ValidationError."""
    try:
        return JobSpec.model_validate(value)
    except ValidationError:
        # Clients know the faults in the words of JSON ("object", "array"), which pydantic uses only for JSON text.
        return JobSpec.model_validate_json(write_json(value))


def _given_twice(value: Mapping[str, Any], prefix: str) -> Iterator[Cause]:
    """Yield a cause for each option that is given under both of its names: one value would be lost."""
    for action, described in ACTIONS.items():
        word, later = action.value, described.later_word
        if later and value.get(word) is not None and value.get(later) is not None:
            yield Cause(f"{prefix}{later}", "FieldValueForbidden", f"Forbidden: {later} and {word} are the same; give one of them")
    for word, action in _BLOCKS.items():
        if isinstance(options := value.get(word), dict):
            yield from ACTIONS[action].input_causes(options, word, prefix)


def _faults(spec: JobSpec, value: Mapping[str, Any], prefix: str) -> Iterator[Cause]:
    action = spec.action.value
    if getattr(spec, action) is None:
        text = f"Required value: a job with action {action} needs its options"
        yield Cause(
            f"{prefix}{action}",
            "FieldValueRequired",
            f"{text}; {{}} takes the defaults" if ACTIONS[spec.action].has_default_options else text,
        )
    for word, of in _BLOCKS.items():
        if of is not spec.action and value.get(word) is not None:
            text = f"Forbidden: a job with action {action} takes no options of {of.value}; leave them out"
            yield Cause(f"{prefix}{word}", "FieldValueForbidden", text)
    for described in ACTIONS.values():
        yield from described.spec_causes(spec, prefix)
