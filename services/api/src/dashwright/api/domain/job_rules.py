"""The rules of one JobSpec that a submitter sends: what it must say, and what it must not. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import ValidationError

from dashwright.common.document import write_json
from dashwright.common.errors import Cause
from dashwright.common.kinds.branches import is_branch
from dashwright.common.models.causes import causes_of
from dashwright.common.models.provisioning import Action, ExportJobOptions, JobSpec, PullRequestJobOptions

_BLOCKS: Final[Mapping[str, Action]] = {
    "export": Action.EXPORT,
    "push": Action.EXPORT,
    "pr": Action.PR,
    "sync": Action.SYNC,
    "pull": Action.SYNC,
}
"""The blocks of options by their names, the later words among them."""

_SYNONYMS: Final = (("sync", "pull"), ("export", "push"))


def read(value: Mapping[str, Any], prefix: str) -> tuple[list[Cause], JobSpec | None]:
    """Return a spec, or the causes of its refusal; the path of each begins with ``prefix``."""
    if faults := list(_given_twice(value, prefix)):
        return faults, None
    if value.get("action") in (None, ""):
        blocks = [word for word in _BLOCKS if value.get(word) is not None]
        if len(blocks) > 1:
            text = "Required value: multiple job types found; name the one meant"
            return [Cause(f"{prefix}action", "FieldValueRequired", text)], None
        if not blocks:
            return [Cause(f"{prefix}action", "FieldValueRequired", "Required value: one of export, pr, sync")], None
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
    """Yield what is given in both of its words: one of them would be lost."""
    for word, later in _SYNONYMS:
        if value.get(word) is not None and value.get(later) is not None:
            yield Cause(f"{prefix}{later}", "FieldValueForbidden", f"Forbidden: {later} and {word} are the same; give one of them")
    for word in ("export", "push"):
        block = value.get(word)
        if isinstance(block, dict) and block.get("prefix") is not None and block.get("path") is not None:
            text = "Forbidden: path and prefix are the same; give one of them"
            yield Cause(f"{prefix}{word}.path", "FieldValueForbidden", text)


def _faults(spec: JobSpec, value: Mapping[str, Any], prefix: str) -> Iterator[Cause]:
    action = spec.action.value
    if getattr(spec, action) is None:
        text = f"Required value: a job with action {action} needs its options"
        yield Cause(f"{prefix}{action}", "FieldValueRequired", text if spec.action is Action.PR else f"{text}; {{}} takes the defaults")
    for word, of in _BLOCKS.items():
        if of is not spec.action and value.get(word) is not None:
            text = f"Forbidden: a job with action {action} takes no options of {of.value}; leave them out"
            yield Cause(f"{prefix}{word}", "FieldValueForbidden", text)
    if spec.sync is not None and spec.sync.ref:
        text = "Forbidden: a sync takes the newest commit; ask for a rollback to have an earlier one"
        yield Cause(f"{prefix}sync.ref", "FieldValueForbidden", text)
    if spec.export is not None:
        yield from _faults_of_export(spec.export, f"{prefix}export.")
    if spec.pr is not None and spec.action is Action.PR:
        yield from _faults_of_pull_request(spec.pr, f"{prefix}pr")


def _faults_of_export(export: ExportJobOptions, prefix: str) -> Iterator[Cause]:
    if export.branch and not is_branch(export.branch):
        yield Cause(f"{prefix}branch", "FieldValueInvalid", f"Invalid value: {export.branch[:80]!r}: invalid git branch name")


def _faults_of_pull_request(pull: PullRequestJobOptions, field: str) -> Iterator[Cause]:
    """Yield what keeps a pull request from being found: 0 and empty texts count as missing, as programs in Go write them."""
    if pull.pr is not None and pull.pr < 0:
        yield Cause(f"{field}.pr", "FieldValueInvalid", f"Invalid value: {pull.pr}: give the number of a pull request, 1 or more")
    elif not (pull.pr or pull.ref or pull.url):
        text = "Required value: which pull request? Give its number, or else its branch as ref or its address as url"
        yield Cause(f"{field}.pr", "FieldValueRequired", text)
