"""What the rules say of an object in a file, by the configuration that stands beside it at the same commit."""

import asyncio
from collections.abc import Sequence

from dashwright.common.errors import DashwrightError, NotFound
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.models.values import LintSeverity
from dashwright.jobs_worker.actions.files.planning import ChangeContext, read_file
from dashwright.jobs_worker.domain.files.content import object_tree
from dashwright.jobs_worker.domain.lint.config import Config, read_config
from dashwright.jobs_worker.domain.lint.issue import FILE, Issue, fault_of_config
from dashwright.jobs_worker.domain.lint.linter import lint
from dashwright.jobs_worker.domain.objects import Write
from dashwright.jobs_worker.ports import Checkout


async def lint_object(context: ChangeContext, checkout: Checkout, write: Write | None) -> Sequence[Issue]:
    """Nothing of what is no dashboard. A configuration that cannot be read is an issue of its own. Raises SourceFailed."""
    if write is None or write.key.group != DASHBOARD.group:
        return []
    spec = await asyncio.to_thread(object_tree, write.spec)
    config, faults = await rules_at(checkout)
    return [*faults, *await asyncio.to_thread(lint, spec, config)]


async def rules_at(checkout: Checkout) -> tuple[Config | None, Sequence[Issue]]:
    """The configuration of a repository, and what is wrong with it. Raises SourceFailed."""
    try:
        config, unknown = read_config((await read_file(checkout, FILE)).body)
    except NotFound:
        return None, []
    except DashwrightError as fault:
        if fault.status >= 500:
            raise
        return None, [fault_of_config(fault.message, LintSeverity.ERROR)]
    return config, [fault_of_config(message, LintSeverity.WARNING) for message in unknown]
