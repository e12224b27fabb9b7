"""Repositories that submitted jobs name, and the checks of jobs against them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import orjson

from dashwright.api.domain import submissions
from dashwright.api.domain.access.view import AccessView
from dashwright.api.domain.exports import require_export_permission
from dashwright.common.database.pool import Database
from dashwright.common.errors import Cause, Conflict
from dashwright.common.identity import Identity
from dashwright.common.job_actions import ACTIONS
from dashwright.common.kinds.registry import FOLDER, REPOSITORY
from dashwright.common.models.job_options import ExportJobOptions
from dashwright.common.models.provisioning import Action, JobSpec, RepositorySpec
from dashwright.common.stores import resources


class AccessViews(Protocol):
    """The source of access views: what a caller may do with the objects in folders."""

    async def view_on(self, identity: Identity, namespace: str, folder: str | None) -> AccessView:
        """Return the caller's view for an object in ``folder`` (None: at the root). Raises Unavailable."""
        ...


@dataclass(frozen=True, slots=True)
class JobRepository:
    """A stored repository with its parsed spec."""

    stored_object: resources.StoredObject
    spec: RepositorySpec


class JobRepositories:
    """The stored repositories, and the right of a caller to export to them."""

    def __init__(self, database: Database, access_views: AccessViews) -> None:
        self._database = database
        self._access_views = access_views

    async def find(self, namespace: str, specs: Sequence[JobSpec]) -> Mapping[str, JobRepository]:
        """Return the repositories that the specs of jobs name, by name. Unknown repositories are left out."""
        names = list(dict.fromkeys(spec.repository for spec in specs))
        async with self._database.connection() as connection:
            objects = await resources.get_many(connection, REPOSITORY, namespace, names)
        return {item.name: JobRepository(item, RepositorySpec.model_validate_json(item.spec)) for item in objects}

    async def require_export_permission(self, caller: Identity, namespace: str, repository: JobRepository, spec: JobSpec) -> None:
        """Raise Forbidden if a job is an export and the caller may not read the exported objects.

        If the export is to the synced branch, the caller must also be allowed to change them. Raises NotFound for an unknown folder.
        """
        if spec.export is None or spec.action is not Action.EXPORT:
            return
        options: ExportJobOptions = spec.export
        parent = None
        if options.folder:
            async with self._database.connection() as connection:
                parent = (await resources.get(connection, FOLDER, namespace, options.folder)).folder
        view = await self._access_views.view_on(caller, namespace, options.folder)
        require_export_permission(
            view, repository.spec, options, repository=repository.stored_object.name, parent=parent, login=caller.login
        )


def check_specs(specs: Sequence[JobSpec], repositories: Mapping[str, JobRepository], *, is_list: bool, is_plan: bool = False) -> None:
    """Raise Invalid unless every spec names a repository that accepts the action of the spec.

    For a single spec, an unknown repository raises NotFound instead. Raises Conflict for a repository that is being deleted. A plan is
    allowed even if syncs of the repository are disabled.
    """
    causes: list[Cause] = []
    for index, spec in enumerate(specs):
        prefix = f"[{index}]." if is_list else "spec."
        repository = repositories.get(spec.repository)
        if repository is None and not is_list:
            raise resources.not_found(REPOSITORY, spec.repository)
        if repository is None:
            message = f'Not found: "{spec.repository}": there is no such repository in this namespace'
            causes.append(Cause(f"{prefix}repository", "FieldValueNotFound", message))
        elif "deletionTimestamp" in orjson.loads(repository.stored_object.metadata):
            raise Conflict(f'cannot create jobs for a repository marked for deletion: "{spec.repository}"')
        elif not is_plan:
            causes += ACTIONS[spec.action].repository_causes(spec, repository.spec, prefix)
    if causes:
        raise submissions.invalid_error(causes)
