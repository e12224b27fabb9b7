"""Description of an action of jobs."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dashwright.common.errors import Cause
from dashwright.common.models.provisioning import Action, JobSpec, RepositorySpec


def no_causes(*_: Any) -> Iterator[Cause]:
    """Return no causes. Use this for an action without such a check."""
    return iter(())


@dataclass(frozen=True, slots=True, kw_only=True)
class JobAction:
    """Description of an action, by which the gateway and the scheduler check a job before it is recorded."""

    #: The action. A JobSpec has the options of an action in the member of the same name.
    action: Action
    #: Alternative name of the action and its options in newer clients, or empty.
    alias: str = ""
    #: True if ``{}`` is valid as the options.
    has_default_options: bool = True
    #: Return a string that is equal for two jobs of a repository that can be merged into one.
    merge_key: Callable[[JobSpec], str]
    #: Return causes for options that a request has under two names. Parameters: the options, their member name and the prefix of fields.
    duplicate_option_causes: Callable[[Mapping[str, Any], str, str], Iterator[Cause]] = no_causes
    #: Return causes to refuse a JobSpec for any repository. The second parameter is the prefix of fields.
    spec_causes: Callable[[JobSpec, str], Iterator[Cause]] = no_causes
    #: JSON Schema of the options that ``spec_causes`` accepts, which clients read in addition to the schema of their model.
    options_schema: Mapping[str, Any] = field(default_factory=dict)
    #: Return causes to refuse a JobSpec for a repository. The last parameter is the prefix of fields.
    repository_causes: Callable[[JobSpec, RepositorySpec, str], Iterator[Cause]] = no_causes
    #: Name of the action's own concurrency group in each repository. Empty: the group that actions share, with one job at a time.
    own_group: str = ""
    #: Maximum number of concurrently running jobs of the group.
    group_limit: int = 1
