"""Application of files to the stored repositories: creates, updates and deletes, by the writer of all requests."""

import asyncio
import os
import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from dashwright.api.domain.access.roles import provisioning_identity
from dashwright.api.domain.actor import Actor
from dashwright.api.repositories.provisioning.declaration import Declaration
from dashwright.api.repositories.provisioning.directory import ProvisioningFault, read_declared_state
from dashwright.api.resources import metadata
from dashwright.api.resources.writing.desired_object import DesiredObject, Preconditions, WriteContext
from dashwright.api.resources.writing.writer import Writer
from dashwright.api.stores import orgs, provisioning
from dashwright.api.stores.provisioning import ProvisionedRepository
from dashwright.common.database.pool import Connection
from dashwright.common.errors import Conflict, DashwrightError, NotFound
from dashwright.common.identity import org_of
from dashwright.common.kinds.annotations import FROM_FILE, MANAGED_BY
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.observability import metrics
from dashwright.common.stores.resources import StoredObject

log = structlog.get_logger()

_FIELD_MANAGER: Final = "provisioning"


@dataclass(frozen=True, slots=True)
class _AppliedState:
    """The fingerprint of an applied declaration, and the uid and generation of the stored repository."""

    fingerprint: str
    uid: uuid.UUID
    generation: int


class RepositoryProvisioner:
    """A provisioner that makes the stored repositories equal to those declared in the files of a directory.

    It remembers the state that it has applied, so that unchanged files cause no write and take no lock.
    """

    def __init__(self, directory: Path, writer: Writer, environment: Mapping[str, str] = os.environ) -> None:
        self._directory = directory
        self._writer = writer
        self._environment = environment
        #: The applied state by namespace and name.
        self._applied: dict[tuple[str, str], _AppliedState] = {}
        #: Uids of stored repositories that the last read did not find; empty after an incomplete read.
        self._undeclared: frozenset[uuid.UUID] = frozenset()
        #: The faults of the last read.
        self._reported_faults: frozenset[ProvisioningFault] = frozenset()

    async def apply(self, connection: Connection) -> None:
        """Read the files once and apply them. Only one gateway may do this at a time.

        A repository is deleted only when two successive reads do not find its declaration, because a file may be
        incomplete while it is written. Raises the retryable errors of the writer, such as Unavailable.
        """
        # Emptied first, so that two new reads are needed if this one fails.
        undeclared_before, self._undeclared = self._undeclared, frozenset()
        state = await asyncio.to_thread(read_declared_state, self._directory, self._environment)
        stored_repositories = {(stored.namespace, stored.name): stored for stored in await provisioning.list_all(connection)}
        faults = list(state.faults)
        missing = [stored for key, stored in stored_repositories.items() if key not in state.keys and not stored.is_deleting]
        if state.is_complete:
            # Deletes come first: a repository with another name may have the same source.
            faults += await self._delete([stored for stored in missing if stored.uid in undeclared_before])
        self._applied = {key: applied for key, applied in self._applied.items() if key in state.keys}
        for declaration in state.declarations:
            try:
                await self._apply(connection, declaration, stored_repositories.get(declaration.key))
            except DashwrightError as error:
                if error.retryable:
                    raise
                faults.append(ProvisioningFault(declaration.file, error.message, *declaration.key))
        self._report(faults, missing if not state.is_complete else ())
        self._undeclared = frozenset(stored.uid for stored in missing) if state.is_complete else frozenset()

    async def _delete(self, repositories: Iterable[ProvisionedRepository]) -> Collection[ProvisioningFault]:
        """Delete repositories, which run their finalizers, and return the faults."""
        faults: list[ProvisioningFault] = []
        for stored in repositories:
            context = _write_context(_org_id(stored.namespace))
            # A repository that was changed or released since it was listed is not deleted.
            preconditions = Preconditions(str(stored.uid), str(stored.resource_version))
            try:
                await self._writer.delete(REPOSITORY, stored.namespace, stored.name, context, preconditions=preconditions, grace_seconds=0)
            except (Conflict, NotFound) as error:
                log.info("provisioned_repository_not_deleted", namespace=stored.namespace, repository=stored.name, reason=error.message)
            except DashwrightError as error:
                if error.retryable:
                    raise
                faults.append(ProvisioningFault(stored.source_path, error.message, stored.namespace, stored.name))
            else:
                _log_change("deleted", stored.namespace, stored.name, stored.source_path)
        return faults

    async def _apply(self, connection: Connection, declaration: Declaration, stored: ProvisionedRepository | None) -> None:
        """Create or update the declared repository unless it is up to date. Raises the errors of the writer."""
        fingerprint = declaration.fingerprint()
        if stored is not None and self._applied.get(declaration.key) == _AppliedState(fingerprint, stored.uid, stored.generation):
            return
        org_id = _org_id(declaration.namespace)
        if await orgs.get(connection, org_id) is None:
            raise NotFound(f"there is no organization {org_id} for the namespace '{declaration.namespace}': create it, or name another one")
        desired, context = declaration.desired_object(), _write_context(org_id)

        def change(current: StoredObject) -> DesiredObject:
            _check_owner(current)
            return desired

        try:
            result = await self._writer.update(REPOSITORY, declaration.namespace, declaration.name, change, context)
            written_object, warnings = result.stored_object, result.warnings
            outcome = "updated" if result.is_changed else ""
        except NotFound:
            written_object, warnings = await self._writer.create(desired, context), desired.warnings
            outcome = "created"
        self._applied[declaration.key] = _AppliedState(fingerprint, written_object.uid, written_object.generation)
        for warning in warnings:
            log.warning(
                "provisioning_warning",
                file=declaration.file,
                namespace=declaration.namespace,
                repository=declaration.name,
                warning=warning,
            )
        if outcome:
            _log_change(outcome, declaration.namespace, declaration.name, declaration.file)

    def _report(self, faults: Collection[ProvisioningFault], withheld: Collection[ProvisionedRepository]) -> None:
        """Log the faults that the previous read did not have, and set the metric.

        ``withheld`` has the repositories that would be deleted if no file had a fault.
        """
        current_faults = frozenset(faults)
        for fault in faults:
            if fault not in self._reported_faults:
                repository = {"namespace": fault.namespace, "repository": fault.repository} if fault.repository else {}
                log.warning("provisioning_fault", file=fault.file, error=fault.message, **repository)
        if withheld and current_faults != self._reported_faults:
            log.warning(
                "provisioning_deletes_withheld",
                repositories=[f"{stored.namespace}/{stored.name}" for stored in withheld],
                advice="correct the files with faults; until then no repository is deleted",
            )
        if self._reported_faults and not faults:
            log.info("provisioning_faults_corrected")
        self._reported_faults = current_faults
        metrics.provisioning_faults.set(len(current_faults))


def _check_owner(current: StoredObject) -> None:
    """Raise Conflict if the provisioner may not replace a repository: no file declared it, or its deletion waits for finalizers.

    An Admin permits a file to take a repository over by setting the annotation that names its manager.
    """
    if metadata.annotations_of(current).get(MANAGED_BY) != FROM_FILE:
        raise Conflict(
            f'the repository "{current.name}" exists and no file created it: declare another name, delete it, '
            f"or let the file take it over by setting its annotation {MANAGED_BY} to {FROM_FILE}"
        )
    if metadata.is_deleting(current):
        finalizers = ", ".join(metadata.client_finalizers(current))
        raise Conflict(
            f'the repository "{current.name}" waits for the removal of its finalizers ({finalizers}) to be deleted: remove them first'
        )


def _org_id(namespace: str) -> int:
    """Return the id of the organization of a namespace. Raises NotFound if it is not a namespace of an organization."""
    org_id = org_of(namespace)
    if org_id is None:
        raise NotFound(f"'{namespace[:80]}' is not a namespace: use 'default', or 'org-N' with the id of an organization")
    return org_id


def _write_context(org_id: int) -> WriteContext:
    """Return the context of a write by the provisioner, which belongs to no request."""
    identity = provisioning_identity(org_id)
    actor = Actor(identity.uid, identity.login, org_id, address="", request_id="", trace_id="")
    return WriteContext(identity, actor, _FIELD_MANAGER, applies_file=True)


def _log_change(outcome: str, namespace: str, name: str, file: str) -> None:
    log.info("repository_provisioned", outcome=outcome, namespace=namespace, repository=name, file=file)
