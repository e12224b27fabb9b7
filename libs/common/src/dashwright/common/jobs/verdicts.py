"""What a job says at each step and at its end. Clients show these texts, so they stand in one place."""

STARTED = "start job"
COMPLETED = "completed successfully"
COMPLETED_WITH_ERRORS = "completed with errors"
COMPLETED_WITH_TOO_MANY_ERRORS = "completed with too many errors"

SYNC_STARTED = "execute sync job"
READING = "reading changed files"
REPLICATING = "replicating changes"
REPLICATING_DIFFERENCE = "replicating versioned changes"
REPLICATED_DIFFERENCE = "versioned changes replicated"
UPDATING_STATS = "update status and stats"
NOTHING_TO_SYNC = "no changes to sync"
SAME_COMMIT = "same commit as last time"
NO_DIFFERENCE = "no changes detected between commits"
NO_COMMITS = "the repository has no commits yet"
SYNC_DISABLED = "sync is not enabled"

CANCELLED = "job was cancelled"
LEASE_LAPSED = "Job failed due to lease expiry - worker may have crashed or lost connection"


def too_many_errors(count: int) -> str:
    return f"too many errors: {count}"
