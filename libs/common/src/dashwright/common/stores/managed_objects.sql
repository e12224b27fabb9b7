-- name: delete_managed
-- Deletes those of the objects that a repository still manages.
delete from resource
where namespace = $1 and api_group = $2 and resource = $3 and name = any($4::text[]) and manager_kind = 'repo' and manager_id = $5
returning name

-- name: release_managed
-- Removes the manager from objects of a repository; bodies and generations are kept.
update resource set annotations = annotations - array['grafana.app/managedBy', 'grafana.app/managerId', 'grafana.app/managerAllowsEdits',
    'grafana.app/managerSuspended', 'grafana.app/sourcePath', 'grafana.app/sourceChecksum', 'grafana.app/sourceTimestamp']
where namespace = $1 and manager_kind = 'repo' and manager_id = $2
  and ($3::text[] is null or (api_group = 'folder.grafana.app' and resource = 'folders' and name = any($3::text[])))

-- name: list_nonempty_folders
-- Folders of $2 that contain, directly or at any depth, an object which is not itself a folder of $2.
with recursive nonempty_folder as (
    select r.folder as name
    from resource r
    where r.namespace = $1 and r.folder = any($2::text[])
      and not (r.api_group = 'folder.grafana.app' and r.resource = 'folders' and r.name = any($2::text[]))
    union
    select f.folder
    from nonempty_folder join resource f on f.namespace = $1 and f.api_group = 'folder.grafana.app' and f.resource = 'folders' and f.name = nonempty_folder.name
    where f.folder = any($2::text[])
)
select name from nonempty_folder

-- name: extend_statement
-- A write of many objects may take longer than the statement timeout of requests.
set local statement_timeout = '5min'

-- name: list_managed
-- All objects of one manager, of any kind.
select api_group, resource, name, source_path, source_checksum, folder, title
from resource
where namespace = $1 and manager_kind = $2 and manager_id = $3
order by resource, source_path

-- name: find_managed
-- The objects of one manager that came from one of the paths, or have one of the keys. The hash expression is that of the index.
-- "offset 0" makes PostgreSQL look up each path and key separately. Otherwise the planner, which expects a manager to have few
-- objects, would read all of them.
select r.*
from unnest($4::text[]) as requested (path)
cross join lateral (
    select api_group, resource, name, source_path, source_checksum, folder, title
    from resource
    where namespace = $1 and manager_kind = $2 and manager_id = $3
      and hashtextextended(source_path, 0) = hashtextextended(requested.path, 0) and source_path = requested.path
    offset 0
) r
union
select r.api_group, r.resource, r.name, r.source_path, r.source_checksum, r.folder, r.title
from unnest($5::text[], $6::text[], $7::text[]) as requested (api_group, resource, name)
cross join lateral (
    select *
    from resource
    where namespace = $1 and api_group = requested.api_group and resource = requested.resource and name = requested.name
    offset 0
) r
where r.manager_kind = $2 and r.manager_id = $3
order by resource, source_path

-- name: count_managed
select api_group, resource, count
from resource_count
where namespace = $1 and repository = $2
order by api_group, resource
