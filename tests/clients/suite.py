"""The client tests that run: one release of grafana-client's own tests, in the groups that this version of the product supports."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

PROJECT: Final = "grafana-client"
VERSION: Final = "5.1.4"
#: Hash of the source archive on PyPI, so that the tests never change unnoticed.
SHA256: Final = "3783261a9600e7104b8bf6243cfa71f548f3ee13456753510cf2c109124aa23b"


@dataclass(frozen=True, slots=True)
class Group:
    """A test file of the archive."""

    file: str
    #: The version that the gateway reports. The suite expects other responses of other versions.
    reported: str = "12.0.0"
    #: The tests of the file that run in this group. Empty: all tests of the file that are in no other group.
    tests: tuple[str, ...] = ()

    @property
    def nodes(self) -> list[str]:
        """The node ids to run."""
        return [f"{self.file}::{test}" for test in self.tests] or [self.file]


GROUPS: Final[Mapping[str, Group]] = {
    "health": Group("test/elements/test_health.py"),
    "service-accounts": Group("test/elements/test_service_account.py"),
    "admin": Group("test/elements/test_admin.py"),
    "organizations": Group("test/elements/test_organization.py"),
    "users": Group("test/elements/test_user.py"),
    "teams": Group("test/elements/test_team.py"),
    "datasources": Group("test/elements/test_datasource_base.py"),
    "client": Group("test/test_grafana_client.py"),
    "asynchronous-client": Group("test/test_async.py"),
    "folders": Group("test/elements/test_folder.py"),
    "dashboards": Group("test/elements/test_dashboard.py"),
    "dashboard-versions": Group("test/elements/test_dashboard_versions.py"),
    "search": Group("test/elements/test_search.py"),
    "snapshots": Group("test/elements/test_snapshot.py"),
    "annotations": Group("test/elements/test_annotations.py"),
    "datasource-permissions": Group("test/elements/test_datasource_permissions.py"),
    # The suite skips these tests for later versions.
    "library-elements": Group("test/elements/test_libraryelement.py", "11.6.0"),
    # The suite tests access by numeric id for versions before 12 only.
    "datasources-by-number": Group("test/elements/test_datasource_base.py", "11.6.0", ("DatasourceTestCase::test_get_datasource_by_id",)),
    "dashboards-by-number": Group("test/elements/test_dashboard.py", "11.6.0", ("DashboardTestCase::test_dashboard_permissions_by_id",)),
    "dashboard-versions-by-number": Group(
        "test/elements/test_dashboard_versions.py",
        "11.6.0",
        (
            "DashboardVersionsTestCase::test_get_dashboard_version_by_id",
            "DashboardVersionsTestCase::test_get_dashboard_versions_by_id",
            "DashboardVersionsTestCase::test_restore_dashboard_by_id_success",
        ),
    ),
    "stars-by-number": Group(
        "test/elements/test_user.py", "11.6.0", ("UserTestCase::test_star_dashboard_by_id", "UserTestCase::test_unstar_dashboard_by_id")
    ),
}


def deselected(group: Group) -> list[str]:
    """Return the tests of the group's file that do not run in the group."""
    others = [other for other in GROUPS.values() if other is not group and other.file == group.file and other.tests]
    return [node for other in others for node in other.nodes]
