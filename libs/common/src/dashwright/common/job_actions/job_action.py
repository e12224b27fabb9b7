"""The shape of a description of an action."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dashwright.common.errors import Cause
from dashwright.common.models.provisioning import Action, JobSpec, RepositorySpec


def no_causes(*_: Any) -> Iterator[Cause]:
    """Return no causes: the check of an action that has none of this kind."""
    return iter(())


@dataclass(frozen=True, slots=True, kw_only=True)
class JobAction:
    """The description of an action, for the gateway and the scheduler: all that they check before one of its jobs runs."""

    #: The action; its options are the member of a JobSpec of the same name.
    action: Action
    #: A later word that clients use for the action and for its options; empty if the action has no such word.
    later_word: str = ""
    #: ``{}`` is enough as options.
    has_default_options: bool = True
    #: Text that two jobs of the action on one repository share if one may stand for both.
    target: Callable[[JobSpec], str]
    #: Causes to refuse options as they were sent; called with the options, the name they were sent by and the prefix of fields.
    input_causes: Callable[[Mapping[str, Any], str, str], Iterator[Cause]] = no_causes
    #: Causes to refuse a JobSpec, whatever the repository; called with the prefix of fields.
    spec_causes: Callable[[JobSpec, str], Iterator[Cause]] = no_causes
    #: Causes to refuse a JobSpec for a repository; called with the prefix of fields.
    repository_causes: Callable[[JobSpec, RepositorySpec, str], Iterator[Cause]] = no_causes
    #: Name of a concurrency group of its own in each repository; empty for the group that all such actions share, one job at a time.
    own_group: str = ""
    #: Jobs of the group that run concurrently.
    group_limit: int = 1
