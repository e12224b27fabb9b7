"""The readiness of a repository: the condition, health and field errors in its status."""

import pytest

from dashwright.common.errors import BadRequest, Cause, DashwrightError, Forbidden, SourceFailed
from dashwright.common.models.provisioning import RepositorySpec, RepositoryStatus
from dashwright.jobs_worker.domain.readiness import set_readiness

#: The start of the year 2026, in milliseconds.
START = 1_767_225_600_000


def spec(kind: str) -> RepositorySpec:
    """Return the spec of a repository of a type, such as ``github``."""
    sync = {"target": "folder"}
    return RepositorySpec.model_validate({"title": "T", "type": kind, "workflows": [], "sync": sync, kind: {"path": "x"}})


def test_a_condition_keeps_the_time_of_its_value() -> None:
    """The transition time of a condition changes only with its value. The generation is that of the last probe."""
    status = RepositoryStatus()
    # The fault that each probe finds, the generation of the spec, and the expected transition time. One second passes between probes.
    probes = (
        (BadRequest("no"), 1, "2026-01-01T00:00:00Z"),
        (SourceFailed("away"), 2, "2026-01-01T00:00:00Z"),
        (None, 2, "2026-01-01T00:00:02Z"),
        (None, 3, "2026-01-01T00:00:02Z"),
    )
    for seconds, (fault, generation, transition_time) in enumerate(probes):
        now = START + 1000 * seconds
        is_readable = fault is None
        set_readiness(status, spec("github"), fault, generation=generation, now=now)
        assert status.conditions is not None
        (ready,) = status.conditions
        assert ready.type == "Ready"
        assert ready.status == str(is_readable)
        assert ready.observed_generation == generation
        assert ready.last_transition_time == transition_time
        assert status.health.healthy is is_readable
        assert status.health.checked == now


@pytest.mark.parametrize(
    ("kind", "fault", "field", "reason"),
    [
        ("github", Forbidden("no"), "spec.github.token", "InvalidSpec"),
        ("gitlab", BadRequest("no", causes=[Cause("spec.githost.branch", "", "")]), "spec.gitlab.branch", "InvalidSpec"),
        ("git", SourceFailed("away"), "spec.git.url", "Unavailable"),
        ("local", BadRequest("no"), "spec.local.path", "InvalidSpec"),
    ],
)
def test_a_fault_is_a_field_error_until_it_is_corrected(kind: str, fault: DashwrightError, field: str, reason: str) -> None:
    """A field error names a field in the block of the repository's type. Once the repository can be read, the error is removed."""
    status = RepositoryStatus()
    set_readiness(status, spec(kind), fault, generation=1, now=START)
    assert status.field_errors is not None
    assert status.conditions is not None
    assert [(error.type, error.field, error.detail) for error in status.field_errors] == [("FieldValueInvalid", field, fault.message)]
    assert status.health.error == "health"
    assert status.health.message == [fault.message]
    assert status.conditions[0].reason == reason
    assert "not synced until" in status.sync.message[0]
    set_readiness(status, spec(kind), None, generation=1, now=START)
    assert status.sync.message == []
    assert "fieldErrors" not in status.to_json().decode()
    assert status.health.to_json() == b'{"healthy":true,"checked":1767225600000}'


def test_the_errors_of_the_last_sync_are_kept() -> None:
    """The errors of the last sync are kept even if the repository is no longer readable."""
    status = RepositoryStatus()
    status.sync.message = ["a.json: not valid JSON"]
    for fault in (BadRequest("no"), None):
        set_readiness(status, spec("git"), fault, generation=1, now=START)
        assert status.sync.message == ["a.json: not valid JSON"]
