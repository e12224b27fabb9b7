"""The action ``pr``: review a pull request and comment on it."""

from collections.abc import Iterator
from typing import Any, Final

from dashwright.common.errors import Cause
from dashwright.common.job_actions.job_action import JobAction
from dashwright.common.models.provisioning import Action, JobSpec, RepositorySpec, RepositoryType

#: Maximum number of ``pr`` jobs of a repository that run concurrently, in addition to a ``sync`` or ``export`` job.
MAX_CONCURRENT_PULL_REQUESTS: Final = 4


def _merge_key(spec: JobSpec) -> str:
    """Return the key of the pull request: its number, branch or URL."""
    return str(spec.pr.pr or spec.pr.ref or spec.pr.url or "") if spec.pr is not None else ""


def _spec_causes(spec: JobSpec, prefix: str) -> Iterator[Cause]:
    """Yield the reasons why the options identify no pull request.

    0 and empty strings count as missing: Go clients send them for unset fields.
    """
    options = spec.pr
    if options is None or spec.action is not Action.PR:
        return
    if options.pr is not None and options.pr < 0:
        yield Cause(f"{prefix}pr.pr", "FieldValueInvalid", f"Invalid value: {options.pr}: give the number of a pull request, 1 or more")
    elif not (options.pr or options.ref or options.url):
        message = "Required value: give the number of a pull request, its branch as ref or its address as url"
        yield Cause(f"{prefix}pr.pr", "FieldValueRequired", message)


def _repository_causes(spec: JobSpec, repository: RepositorySpec, prefix: str) -> Iterator[Cause]:
    if repository.type is RepositoryType.LOCAL:
        message = f'Forbidden: the repository "{spec.repository}" is a local directory, which has no pull requests'
        yield Cause(f"{prefix}action", "FieldValueForbidden", message)


def _with_value(name: str, **keywords: int) -> dict[str, Any]:
    """Return the JSON Schema of options in which a member is present and has a value."""
    return {"required": [name], "properties": {name: keywords}}


DESCRIPTION: Final = JobAction(
    action=Action.PR,
    has_default_options=False,
    merge_key=_merge_key,
    spec_causes=_spec_causes,
    options_schema={
        "properties": {"pr": {"minimum": 0}},
        "anyOf": [_with_value("pr", minimum=1), _with_value("ref", minLength=1), _with_value("url", minLength=1)],
    },
    repository_causes=_repository_causes,
    own_group="pr",
    group_limit=MAX_CONCURRENT_PULL_REQUESTS,
)
