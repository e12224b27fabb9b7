"""Names of annotations and labels with a meaning, as existing clients use them."""

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

#: Value of ``MANAGED_BY`` for an object that a repository manages.
REPOSITORY_MANAGER = "repo"

#: Value of ``MANAGED_BY`` for an object provisioned from files.
FROM_FILE = "classic-file-provisioning"

#: Value of ``MANAGER_ID`` for a repository that a file in ``PROVISIONING_DIR`` declares.
FILE_PROVISIONER = "provisioning"

#: Values of ``MANAGED_BY`` that every caller may set. Other values can keep other users from editing an object.
CALLER_TOOLS = frozenset({"kubectl", "terraform", "plugin"})

#: Annotations that only the store sets: authors and times of the creation and the last change.
SET_BY_STORE = frozenset({CREATED_BY, UPDATED_BY, UPDATED_AT})

#: Label with the numeric id of an object, for older clients. Only the store sets it.
CLASSIC_ID_LABEL = "grafana.app/deprecatedInternalID"

#: Annotations of the manager of an object. Only a sync sets them to a repository; callers and files cannot.
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


def declaring_file_of(annotations: dict[str, str]) -> str | None:
    """Return the path of the file that declares a repository with these annotations, or None."""
    is_declared = annotations.get(MANAGED_BY) == FROM_FILE and annotations.get(MANAGER_ID) == FILE_PROVISIONER
    return annotations.get(SOURCE_PATH) if is_declared else None


def repository_of(annotations: dict[str, str]) -> str | None:
    """Return the name of the repository that manages an object with these annotations, or None."""
    return annotations.get(MANAGER_ID) if annotations.get(MANAGED_BY) == REPOSITORY_MANAGER else None
