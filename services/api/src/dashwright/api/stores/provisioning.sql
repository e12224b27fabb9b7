-- name: try_lock
-- Locks the application of files (key 5, 2) for one gateway, until its connection ends.
select pg_try_advisory_lock(5, 2)

-- name: release_lock
select pg_advisory_unlock(5, 2)

-- name: list_all
-- The repositories that files declared, in all organizations. The join permits a search by namespace, for which there is an index.
select r.namespace, r.name, r.uid, r.generation, r.resource_version, r.source_path, r.deletion_timestamp is not null as is_deleting
from org o join resource r on r.namespace = case o.id when 1 then 'default' else 'org-' || o.id end
where r.api_group = 'provisioning.grafana.app' and r.resource = 'repositories'
  and r.manager_kind = $1 and r.manager_id = $2 and r.source_path is not null
order by r.namespace, r.name
