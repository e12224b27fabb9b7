"""The action ``export``: write unmanaged objects into files of a repository."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dashwright.common.errors import BadRequest, Cause, PreconditionFailed
from dashwright.common.job_actions.job_action import JobAction
from dashwright.common.jobs.workflows import check_export
from dashwright.common.kinds.branches import BRANCH_PATTERN, MAX_BRANCH_LENGTH, is_branch
from dashwright.common.models.provisioning import Action, JobSpec, RepositorySpec


def _merge_key(spec: JobSpec) -> str:
    """Return the options as JSON, since only equal exports can be merged."""
    return spec.export.model_dump_json(by_alias=True, exclude_none=True) if spec.export is not None else ""


#: Maximum number of characters of a branch name in an error message.
_MAX_EXCERPT_LENGTH: Final = 80


def _duplicate_option_causes(options: Mapping[str, Any], name: str, prefix: str) -> Iterator[Cause]:
    if options.get("prefix") is not None and options.get("path") is not None:
        message = "Forbidden: path and prefix are the same; give one of them"
        yield Cause(f"{prefix}{name}.path", "FieldValueForbidden", message)


def _spec_causes(spec: JobSpec, prefix: str) -> Iterator[Cause]:
    branch = spec.export.branch if spec.export is not None else None
    if branch and not is_branch(branch):
        yield Cause(
            f"{prefix}export.branch", "FieldValueInvalid", f"Invalid value: {branch[:_MAX_EXCERPT_LENGTH]!r}: invalid git branch name"
        )


def _repository_causes(spec: JobSpec, repository: RepositorySpec, prefix: str) -> Iterator[Cause]:
    """Yield the reason why the repository does not allow the export, if there is one."""
    if spec.export is None:
        return
    try:
        check_export(repository, spec.export)
    except (BadRequest, PreconditionFailed) as error:
        yield Cause(f"{prefix}export", "FieldValueForbidden", f"Forbidden: {error.message}")


DESCRIPTION: Final = JobAction(
    action=Action.EXPORT,
    alias="push",
    merge_key=_merge_key,
    duplicate_option_causes=_duplicate_option_causes,
    spec_causes=_spec_causes,
    options_schema={"properties": {"branch": {"anyOf": [{"maxLength": 0}, {"maxLength": MAX_BRANCH_LENGTH, "pattern": BRANCH_PATTERN}]}}},
    repository_causes=_repository_causes,
)
