"""Permissions for exports. An export reveals objects, and an export to a synced branch changes stored objects by the next sync."""

import pytest

from dashwright.api.domain.access import permissions_of, queue_identity
from dashwright.api.domain.access.view import AccessView
from dashwright.api.domain.exports import require_export_permission
from dashwright.common.errors import Forbidden
from dashwright.common.identity import Identity, Role
from dashwright.common.models.job_options import ExportJobOptions
from dashwright.common.models.provisioning import RepositorySpec


def caller(role: Role) -> Identity:
    """Return a user with the permissions of a role."""
    return Identity(uid="user:1", login="anna", org_id=1, role=role, permissions=permissions_of(role))


def check_export(identity: Identity, options: dict[str, str], *, enabled: bool = True) -> None:
    """Raise Forbidden unless the caller may export to a repository of the branch ``main``, which is synced if ``enabled`` is true."""
    members = {"title": "R", "workflows": ["write"], "type": "githost", "githost": {"branch": "main"}}
    spec = RepositorySpec.model_validate({**members, "sync": {"enabled": enabled, "target": "folder"}})
    export = ExportJobOptions.model_validate(options)
    require_export_permission(AccessView(identity), spec, export, repository="team", parent=None, login=identity.login)


@pytest.mark.parametrize("options", [{}, {"branch": "main"}, {"branch": "side"}, {"folder": "f", "branch": "side"}])
def test_the_queue_identity_may_not_export(options: dict[str, str]) -> None:
    """The queue identity may submit jobs and read no object, so it may not export."""
    with pytest.raises(Forbidden, match="queue:default needs folders:read"):
        check_export(queue_identity(1), options)


def test_readers_export_to_unsynced_branches() -> None:
    """A Viewer may export to a branch that is not synced. An export to the synced branch, which is the default, needs an Editor."""
    check_export(caller(Role.VIEWER), {"branch": "side"})
    check_export(caller(Role.VIEWER), {}, enabled=False)
    options_of_synced_branch: list[dict[str, str]] = [{}, {"branch": "main"}, {"folder": "f"}]
    for options in options_of_synced_branch:
        with pytest.raises(Forbidden, match="folders:write"):
            check_export(caller(Role.VIEWER), options)
        check_export(caller(Role.EDITOR), options)
