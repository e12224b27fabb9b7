"""Annotations with a meaning of their own, by the names that existing clients know."""

FOLDER_KEY = "grafana.app/folder"
MESSAGE = "grafana.app/message"
GRANT_PERMISSIONS = "grafana.app/grant-permissions"
CREATED_BY = "grafana.app/createdBy"
UPDATED_BY = "grafana.app/updatedBy"
UPDATED_AT = "grafana.app/updatedTimestamp"
MANAGED_BY = "grafana.app/managedBy"
MANAGER_ID = "grafana.app/managerId"
MANAGER_ALLOWS_EDITS = "grafana.app/managerAllowsEdits"
SOURCE_PATH = "grafana.app/sourcePath"
SOURCE_CHECKSUM = "grafana.app/sourceChecksum"

REPOSITORY_MANAGER = "repo"
"""The ``MANAGED_BY`` of what a repository owns."""

FROM_FILE = "classic-file-provisioning"
"""The ``MANAGED_BY`` of what is provisioned from files."""

CALLER_TOOLS = frozenset({"kubectl", "terraform", "plugin"})
"""The ``MANAGED_BY`` that every caller may give: tools of theirs. Any other one may keep others from an object."""

SET_BY_STORE = frozenset({CREATED_BY, UPDATED_BY, UPDATED_AT})
"""Who made and changed an object: the store says so, nobody else."""

NUMBER_LABEL = "grafana.app/deprecatedInternalID"
"""The label by which older clients learn the number of an object: the store sets it, nobody else."""

SET_BY_MANAGER = frozenset(
    {
        MANAGED_BY,
        MANAGER_ID,
        MANAGER_ALLOWS_EDITS,
        SOURCE_PATH,
        SOURCE_CHECKSUM,
        "grafana.app/sourceTimestamp",
        "grafana.app/managerSuspended",
        "grafana.app/repoName",
        "grafana.app/repoPath",
        "grafana.app/repoHash",
        "grafana.app/repoTimestamp",
    }
)
"""Who owns an object. That a repository does, a sync says: no caller and no file."""


def repository_of(annotations: dict[str, str]) -> str | None:
    """The repository that manages an object with these annotations."""
    return annotations.get(MANAGER_ID) if annotations.get(MANAGED_BY) == REPOSITORY_MANAGER else None
