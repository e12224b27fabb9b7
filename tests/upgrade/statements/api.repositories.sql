-- name: all
select r.name, h.spec
from resource r join resource_history h using (uid, generation)
where r.namespace = $1 and r.api_group = 'provisioning.grafana.app' and r.resource = 'repositories'
order by r.name

-- name: counts
select nullif(repository, '') as repository, api_group, resource, count
from resource_count
where namespace = $1 and api_group <> 'provisioning.grafana.app'
order by repository nulls first, api_group, resource

-- name: managed
select source_path, api_group, resource, name, source_checksum, title, folder,
       (extract(epoch from coalesce(updated_at, created_at)) * 1000)::bigint as written
from resource
where namespace = $1 and manager_kind = 'repo' and manager_id = $2
order by source_path collate "C" nulls first, api_group, resource, name
