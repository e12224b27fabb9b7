"""Permissions for exports: an export reveals what it writes, and a sync of it changes what is stored."""

import pytest

from dashwright.api.domain.access import permissions_of, queue_identity
from dashwright.api.domain.access.view import View
from dashwright.api.domain.exports import demand_export
from dashwright.common.errors import Forbidden
from dashwright.common.identity import Identity, Role
from dashwright.common.models.provisioning import ExportJobOptions, RepositorySpec


def caller(role: Role) -> Identity:
    return Identity("user:1", "anna", 1, role, permissions=permissions_of(role))


def judge(identity: Identity, options: dict[str, str], *, enabled: bool = True) -> None:
    tree = {"title": "R", "workflows": ["write"], "type": "githost", "githost": {"branch": "main"}}
    spec = RepositorySpec.model_validate({**tree, "sync": {"enabled": enabled, "target": "folder"}})
    wanted = ExportJobOptions.model_validate(options)
    demand_export(View(identity), spec, wanted, repository="team", above=None, login=identity.login)


@pytest.mark.parametrize("options", [{}, {"branch": "main"}, {"branch": "side"}, {"folder": "f", "branch": "side"}])
def test_the_queue_identity_may_not_export(options: dict[str, str]) -> None:
    """It may submit jobs and see no object."""
    with pytest.raises(Forbidden, match="queue:default needs folders:read"):
        judge(queue_identity(1), options)


def test_who_reads_exports_to_where_nothing_is_synced_from() -> None:
    """A Viewer to another branch, or where sync is off; not to the own branch, by name or not."""
    judge(caller(Role.VIEWER), {"branch": "side"})
    judge(caller(Role.VIEWER), {}, enabled=False)
    own: list[dict[str, str]] = [{}, {"branch": "main"}, {"folder": "f"}]
    for options in own:
        with pytest.raises(Forbidden, match="folders:write"):
            judge(caller(Role.VIEWER), options)
        judge(caller(Role.EDITOR), options)
