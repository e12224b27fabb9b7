"""Groups of operations in the API description, with their names and descriptions."""

from collections.abc import Mapping
from typing import Final

TAGS: Final[Mapping[str, tuple[str, str]]] = {
    "access_control": ("Access control", "Who may do what: explicit grants, and rules of access to folders and dashboards."),
    "admin": ("Server", "Settings and statistics of the server, for server admins."),
    "admin_users": ("User administration", "Creating, changing and deleting users, for server admins."),
    "alerting": ("Alerting", "Empty lists for clients of Grafana: alerting is not part of this product."),
    "annotations": ("Annotations", "Notes on points in time."),
    "api_keys": ("API keys", "Legacy keys, which service accounts replace."),
    "audit": ("Audit", "A log of changes: actor, action, object and time."),
    "dashboard.grafana.app": ("Dashboards as resources", "Dashboards and library panels by the Kubernetes API conventions."),
    "dashboards": ("Dashboards", "Saving, reading and rendering dashboards, and their versions."),
    "datasources": ("Data sources", "Connections to the databases and services that queries read."),
    "description": ("Description", "This description in several formats."),
    "discovery": ("Discovery", "First requests of Kubernetes clients: groups, versions, resources and the caller's permissions."),
    "ds": ("Queries", "The evaluation of queries and expressions."),
    "expressions.dashwright.io": ("Evaluations as resources", "Panels that are evaluated in the background."),
    "folder.grafana.app": ("Folders as resources", "Folders by the Kubernetes API conventions."),
    "folders": ("Folders", "Folders, which contain dashboards, library panels and other folders."),
    "frontend": ("First requests", "Settings that clients request before anything else."),
    "health": ("Health", "The health of the service, its version and its metrics."),
    "iam.grafana.app": ("Users and teams as resources", "Users and teams by the Kubernetes API conventions, to read."),
    "jobs.dashwright.io": ("Batches and dead letters", "Many jobs that are submitted together, and messages that could not be handled."),
    "library elements": ("Library elements", "Panels that several dashboards share."),
    "orgs": ("Organizations", "Organizations and their members."),
    "pages": ("Pages", "HTML pages for browsers."),
    "panels": ("Panels", "Panels with expressions: strict evaluation, validation, and JSON Schemas."),
    "playlist.grafana.app": ("Playlists as resources", "Playlists by the Kubernetes API conventions."),
    "playlists": ("Playlists", "Sequences of dashboards that a screen shows one after the other."),
    "plugins": ("Types", "The built-in types of data sources and panels, as Grafana lists its plugins."),
    "preferences": ("Preferences", "Theme, home dashboard and the like, of users, teams and organizations."),
    "preferences.grafana.app": ("Preferences as resources", "Preferences by the Kubernetes API conventions, to read."),
    "provisioning.grafana.app": (
        "Repositories and jobs",
        "Repositories that provide dashboards, and the jobs that synchronize them.",
    ),
    "query history": ("Query history", "Queries that a user has run, with comments and stars."),
    "quota": ("Quotas", "Limits on the number of objects of an organization or a user."),
    "search": ("Search", "Finding dashboards and folders."),
    "service_accounts": ("Service accounts", "Accounts of programs, and their tokens."),
    "short URLs": ("Short URLs", "Short addresses that redirect to a path of this server."),
    "snapshots": ("Snapshots", "Copies of dashboards with their data, which clients read by key until they expire."),
    "teams": ("Teams", "Groups of users who share permissions."),
    "users": ("Users", "Users, and their own profiles."),
}
"""The name and description of each group, by the tag of its operations."""
