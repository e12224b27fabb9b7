"""Checks of items that depend on the caller and on stored repositories."""

from collections.abc import Mapping, Sequence

from dashwright.api.domain import batch_items
from dashwright.api.domain.batch_items import CheckedItem, RefusedItem
from dashwright.api.job_repositories import JobRepositories, JobRepository, check_specs
from dashwright.common.errors import Conflict, DashwrightError, Forbidden, Invalid, NotFound
from dashwright.common.identity import Identity
from dashwright.common.models.causes import sentence
from dashwright.common.models.provisioning import JobSpec


class ItemChecks:
    """Checks of the items of one caller in one namespace.

    These are the checks of single jobs and evaluations, except for two that a worker does: the probe of a repository and the
    validation of a panel. An item that would fail one of these two is accepted, and ends with an error.
    """

    def __init__(self, repositories: JobRepositories, caller: Identity, namespace: str) -> None:
        self._repositories = repositories
        self._caller = caller
        self._namespace = namespace
        #: Why the caller may not submit items of a kind, by kind; None if they may.
        self._faults_of_kinds = {name: batch_items.missing_permission(kind, caller) for name, kind in batch_items.KINDS.items()}

    async def check(self, items: Sequence[CheckedItem | RefusedItem]) -> Sequence[CheckedItem | RefusedItem]:
        """Return the items in their order. Items that cannot be accepted are replaced by refused ones."""
        permitted_items = [self._check_permission(item) for item in items]
        specs = [item.job for item in permitted_items if isinstance(item, CheckedItem) and item.job is not None]
        if not specs:
            return permitted_items
        repositories = await self._repositories.find(self._namespace, specs)
        # The items of a batch usually share a few specs, so each spec is checked once.
        faults: dict[str, str | None] = {}
        checked_items: list[CheckedItem | RefusedItem] = []
        for item in permitted_items:
            if isinstance(item, CheckedItem) and item.job is not None:
                if item.spec not in faults:
                    faults[item.spec] = await self._fault(item.job, repositories)
                if (fault := faults[item.spec]) is not None:
                    checked_items.append(RefusedItem(item.id, fault))
                    continue
            checked_items.append(item)
        return checked_items

    def _check_permission(self, item: CheckedItem | RefusedItem) -> CheckedItem | RefusedItem:
        """Return the item, or a refused one if the caller may not submit items of its kind."""
        if isinstance(item, CheckedItem) and (fault := self._faults_of_kinds[item.kind]) is not None:
            return RefusedItem(item.id, fault)
        return item

    async def _fault(self, spec: JobSpec, repositories: Mapping[str, JobRepository]) -> str | None:
        """Return why a job cannot be submitted, or None."""
        try:
            check_specs([spec], repositories, is_list=False)
            await self._repositories.require_export_permission(self._caller, self._namespace, repositories[spec.repository], spec)
        except (NotFound, Conflict, Invalid, Forbidden) as error:
            return _sentence(error)
        return None


def _sentence(error: DashwrightError) -> str:
    """Return the causes of an error as a sentence, or its message if it has no causes."""
    return sentence(error.causes) if error.causes else error.message
