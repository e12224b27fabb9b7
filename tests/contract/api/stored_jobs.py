"""Helper that inserts jobs directly, so that no worker runs them."""

from tests.contract.api.conftest import Api


async def insert_job(api: Api, name: str, status: str = '{"state": "pending"}', repository: str = "team") -> None:
    """Insert a sync job of a repository. ``status`` is its status as JSON."""
    await api.sql(
        """insert into job (uid, api_group, resource, namespace, name, resource_version, metadata, labels, spec, status, action, state,
               wake_key, submitted_by, repository)
           select gen_random_uuid(), 'provisioning.grafana.app', 'jobs', 'default', $1, 0,
               jsonb_build_object('name', $1::text, 'creationTimestamp', '2026-01-01T00:00:00Z', 'labels', labels)::text, labels,
               jsonb_build_object('action', 'sync', 'repository', $3::text)::text, $2, 'sync', $2::text::json ->> 'state', 'work.sync',
               '{}', $3
           from jsonb_build_object('repository', $3::text) labels""",
        name,
        status,
        repository,
    )
