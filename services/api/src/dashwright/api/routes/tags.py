"""The groups of operations in the description: their names and what they are about."""

from collections.abc import Mapping
from typing import Final

TAGS: Final[Mapping[str, tuple[str, str]]] = {
    "access_control": ("Access control", "Who may do what: explicit grants, and rules of access to folders and dashboards."),
    "admin": ("Server", "What server admins see of the server."),
    "admin_users": ("User administration", "Creating, changing and removing users, for server admins."),
    "annotations": ("Annotations", "Notes on points in time."),
    "api_keys": ("API keys", "Legacy keys, which service accounts replace."),
    "audit": ("Audit", "Who changed what, and when."),
    "dashboard.grafana.app": ("Dashboards as resources", "Dashboards and library panels by the Kubernetes API conventions."),
    "dashboards": ("Dashboards", "Saving, reading and drawing dashboards, and their versions."),
    "datasources": ("Data sources", "Where queries go."),
    "description": ("Description", "This description, in its forms."),
    "discovery": ("Discovery", "What Kubernetes clients ask first: groups, versions, resources and what the caller may do."),
    "ds": ("Queries", "The evaluation of queries and expressions."),
    "expressions.dashwright.io": ("Evaluations as resources", "Panels that are evaluated in the background."),
    "folder.grafana.app": ("Folders as resources", "Folders by the Kubernetes API conventions."),
    "folders": ("Folders", "What dashboards, library panels and folders are in."),
    "frontend": ("First requests", "What clients ask before they do anything else."),
    "health": ("Health", "Whether the service works, its version and its metrics."),
    "library elements": ("Library elements", "Panels that many dashboards show."),
    "orgs": ("Organizations", "Organizations and their members."),
    "pages": ("Pages", "Pages for people, which browsers show."),
    "panels": ("Panels", "Panels with expressions: evaluated strictly, examined, and described as JSON Schema."),
    "preferences": ("Preferences", "Theme, home dashboard and the like, of users, teams and organizations."),
    "provisioning.grafana.app": (
        "Repositories and jobs",
        "Where dashboards come from, and the work on that.",
    ),
    "quota": ("Quotas", "How much an organization or a user may have."),
    "search": ("Search", "Finding dashboards and folders."),
    "service_accounts": ("Service accounts", "Accounts of programs, and their tokens."),
    "teams": ("Teams", "Users who share rights."),
    "users": ("Users", "Users, and what they may change of themselves."),
}
"""The name and the description of each group, by the word that operations have for it."""
