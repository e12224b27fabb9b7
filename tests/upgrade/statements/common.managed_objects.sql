-- name: delete_managed
delete from resource
where namespace = $1 and api_group = $2 and resource = $3 and name = any($4::text[]) and manager_kind = 'repo' and manager_id = $5
returning name

-- name: release_managed
update resource set annotations = annotations - array['grafana.app/managedBy', 'grafana.app/managerId', 'grafana.app/managerAllowsEdits',
    'grafana.app/managerSuspended', 'grafana.app/sourcePath', 'grafana.app/sourceChecksum', 'grafana.app/sourceTimestamp']
where namespace = $1 and manager_kind = 'repo' and manager_id = $2
  and ($3::text[] is null or (api_group = 'folder.grafana.app' and resource = 'folders' and name = any($3::text[])))

-- name: holding
with recursive found as (
    select r.folder as name
    from resource r
    where r.namespace = $1 and r.folder = any($2::text[])
      and not (r.api_group = 'folder.grafana.app' and r.resource = 'folders' and r.name = any($2::text[]))
    union
    select f.folder
    from found join resource f on f.namespace = $1 and f.api_group = 'folder.grafana.app' and f.resource = 'folders' and f.name = found.name
    where f.folder = any($2::text[])
)
select name from found

-- name: extend_statement
set local statement_timeout = '5min'

-- name: managed
select api_group, resource, name, source_path, source_checksum, folder, title
from resource
where namespace = $1 and manager_kind = $2 and manager_id = $3
order by resource, source_path

-- name: managed_at
select r.*
from unnest($4::text[]) as wanted (path)
cross join lateral (
    select api_group, resource, name, source_path, source_checksum, folder, title
    from resource
    where namespace = $1 and manager_kind = $2 and manager_id = $3
      and hashtextextended(source_path, 0) = hashtextextended(wanted.path, 0) and source_path = wanted.path
    offset 0
) r
union
select r.api_group, r.resource, r.name, r.source_path, r.source_checksum, r.folder, r.title
from unnest($5::text[], $6::text[], $7::text[]) as wanted (api_group, resource, name)
cross join lateral (
    select *
    from resource
    where namespace = $1 and api_group = wanted.api_group and resource = wanted.resource and name = wanted.name
    offset 0
) r
where r.manager_kind = $2 and r.manager_id = $3
order by resource, source_path

-- name: count_managed
select api_group, resource, count
from resource_count
where namespace = $1 and repository = $2
order by api_group, resource
