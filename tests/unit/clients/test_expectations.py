"""The comparison of the results of a client's own test suite with the expected results."""

from pathlib import Path

import pytest
from tests.clients import archive, expectations, suite
from tests.clients.dependency_missing import DependencyMissing
from tests.clients.expectations import Expectations, Outcome, Result, UnpredictableResult

#: A file of the client's tests.
FILE = "test/elements/test_team.py"
#: No test must fail, skip itself, or have an unpredictable result.
NO_EXPECTATIONS = Expectations({}, {}, {})
EXPECTED_FAILURES = Path(__file__).parents[2] / "clients" / "expected_failures.toml"


def results(passed: int, *others: Result) -> list[Result]:
    """Return the results of ``passed`` tests that passed, followed by ``others``."""
    return [*(Result(f"{FILE}::test_{index}", Outcome.PASSED) for index in range(passed)), *others]


def failure(name: str) -> Result:
    """Return the result of a test that failed."""
    return Result(f"{FILE}::{name}", Outcome.FAILED, "it broke")


def test_a_group_that_passes_has_no_complaint() -> None:
    """A group in which every test passed has no complaint."""
    assert expectations.judge(FILE, results(3), NO_EXPECTATIONS) == []


def test_an_unexpected_failure_is_reported_with_its_text() -> None:
    """The report of an unexpected failure names the test, and has its output."""
    assert expectations.judge(FILE, results(9, failure("test_x")), NO_EXPECTATIONS) == [f"{FILE}::test_x: failed: it broke"]


def test_a_test_that_is_expected_to_fail_must_fail() -> None:
    """A test that is expected to fail must exist and fail."""
    with_expected_failures = Expectations({f"{FILE}::test_x": "because"}, {}, {})
    assert expectations.judge(FILE, results(10, failure("test_x")), with_expected_failures) == []
    passing = expectations.judge(FILE, results(10, Result(f"{FILE}::test_x", Outcome.PASSED)), with_expected_failures)
    assert passing == [f"{FILE}::test_x: passed, though it is expected to fail (because); remove it from the list"]
    assert "no such test" in expectations.judge(FILE, results(10), with_expected_failures)[0]
    assert expectations.judge("test/other.py", results(10), with_expected_failures) == []


def test_a_test_that_skips_itself_must_be_listed() -> None:
    """A client's test that skips itself, for example because of the server's version, fails unless it is listed."""
    skipped = Result(f"{FILE}::test_x", Outcome.SKIPPED, "only for version 9")
    assert expectations.judge(FILE, results(1, skipped), NO_EXPECTATIONS) == [f"{FILE}::test_x: skipped itself: only for version 9"]
    assert expectations.judge(FILE, results(1, skipped), Expectations({}, {skipped.test: "because"}, {})) == []


def test_an_unpredictable_test_may_fail_or_pass() -> None:
    """An unpredictable test may pass, or fail with the listed message only."""
    for message, complaints in (("", 0), ("broke", 0), ("another", 1)):
        unpredictable = Expectations({}, {}, {f"{FILE}::test_x": UnpredictableResult("depends on another server", message)})
        assert expectations.judge(FILE, results(1, Result(f"{FILE}::test_x", Outcome.PASSED)), unpredictable) == []
        assert len(expectations.judge(FILE, results(1, failure("test_x")), unpredictable)) == complaints


@pytest.mark.parametrize(("failing", "others", "complaints"), [(1, 1, 0), (2, 18, 0), (2, 17, 1)])
def test_one_test_or_a_tenth_of_a_group_may_be_expected_to_fail(failing: int, others: int, complaints: int) -> None:
    """One expected failure is allowed in every group, and two of twenty tests; two of nineteen are not."""
    names = [f"test_x{index}" for index in range(failing)]
    with_expected_failures = Expectations({f"{FILE}::{name}": "because" for name in names}, {}, {})
    assert len(expectations.judge(FILE, results(others, *map(failure, names)), with_expected_failures)) == complaints


def test_a_group_in_which_nothing_ran_failed() -> None:
    """A group without results has failed, because a mistake in the names of its tests would select no test."""
    assert expectations.judge(FILE, [], NO_EXPECTATIONS) == [f"{FILE}: no test ran"]


def test_results_are_read_by_node_id() -> None:
    """Tests may be in classes or modules. An error is a failure, and a failed test whose tear-down fails is one failure."""
    xml = """<testsuites><testsuite>
    <testcase file="test/a.py" classname="test.a.Case" name="test_1"/>
    <testcase file="test/a.py" classname="test.a" name="test_2"><skipped message="why"/></testcase>
    <testcase file="test/a.py" classname="test.a" name="test_3"><failure message="first&#10;second"/></testcase>
    <testcase file="test/a.py" classname="test.a" name="test_3"><error message="later"/></testcase>
    <testcase file="test/a.py" classname="test.a" name="test_4"/>
    <testcase file="test/a.py" classname="test.a" name="test_4"><error message="tear-down"/></testcase>
    </testsuite></testsuites>"""
    assert expectations.read_results(xml) == [
        Result("test/a.py::Case::test_1", Outcome.PASSED),
        Result("test/a.py::test_2", Outcome.SKIPPED, "why"),
        Result("test/a.py::test_3", Outcome.FAILED, "first"),
        Result("test/a.py::test_4", Outcome.FAILED, "tear-down"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        '[fails]\n"a::b" = ""',
        '[unpredictable."a::b"]\nmessage = "x"',
        '[fails]\n"a::b" = "x"\n[skips]\n"a::b" = "x"',
        '[fail]\n"a::b" = "x"',
    ],
)
def test_a_list_without_reasons_or_with_duplicates_is_refused(text: str) -> None:
    """A list of expectations is invalid if a test has no reason or is in two tables, or if a table is unknown."""
    with pytest.raises(ValueError):
        expectations.read_expectations(text)


def test_the_list_names_tests_of_the_groups() -> None:
    """Each expectation is about a file that a group runs."""
    listed = expectations.read_expectations(EXPECTED_FAILURES.read_text())
    files = {test.partition("::")[0] for table in (listed.fails, listed.skips, listed.unpredictable) for test in table}
    assert files <= {group.file for group in suite.GROUPS.values()}


def test_each_test_runs_in_one_group() -> None:
    """A group runs a whole file or named tests of it. The group of the whole file leaves out the named tests of other groups."""
    for name, group in suite.GROUPS.items():
        for node in group.nodes if group.tests else ():
            complete = [other for other in suite.GROUPS.values() if other.file == group.file and not other.tests]
            assert [node in suite.deselected(other) for other in complete] == [True], name
            assert node not in suite.deselected(group)


def test_an_archive_with_another_checksum_is_deleted(tmp_path: Path) -> None:
    """A damaged archive is never executed, and the next run downloads it again."""
    damaged = tmp_path / "suite.tar.gz"
    damaged.write_bytes(b"something else")
    with pytest.raises(DependencyMissing, match="not the archive that is pinned"):
        archive.check(damaged, suite.SHA256)
    assert not damaged.exists()
