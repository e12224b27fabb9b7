"""The actions of jobs, described one a module: options, checks and concurrency. No I/O; the work itself is done by the jobs worker."""

from collections.abc import Mapping
from typing import Final

from dashwright.common.job_actions import export, pull_request, sync
from dashwright.common.job_actions.job_action import JobAction
from dashwright.common.models.provisioning import Action

ACTIONS: Final[Mapping[Action, JobAction]] = {
    described.action: described for described in (sync.DESCRIPTION, export.DESCRIPTION, pull_request.DESCRIPTION)
}
"""The description of every action."""
