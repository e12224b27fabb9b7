"""Descriptions of the actions of jobs: their options, checks and concurrency. The jobs worker has the code that runs them."""

from collections.abc import Mapping
from typing import Final

from dashwright.common.job_actions import export, pull_request, sync
from dashwright.common.job_actions.job_action import JobAction
from dashwright.common.models.provisioning import Action

#: Descriptions by action.
ACTIONS: Final[Mapping[Action, JobAction]] = {
    description.action: description for description in (sync.DESCRIPTION, export.DESCRIPTION, pull_request.DESCRIPTION)
}
