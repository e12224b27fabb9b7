-- name: ancestors
-- The path from the root to a folder ($2). The number of steps ($3) bounds a cycle, which would never reach the root.
with recursive path as (
    select name, title, folder, 1 as step from resource
    where namespace = $1 and api_group = 'folder.grafana.app' and resource = 'folders' and name = $2
    union all
    select r.name, r.title, r.folder, path.step + 1
    from resource r join path on r.name = path.folder
    where r.namespace = $1 and r.api_group = 'folder.grafana.app' and r.resource = 'folders' and path.step < $3
)
select name, title, folder from path order by step desc

-- name: height
-- The number of nested levels from a folder ($2) down, including itself; at most $3.
with recursive below as (
    select $2::text as name, 1 as depth
    union all
    select r.name, below.depth + 1
    from resource r join below on r.folder = below.name
    where r.namespace = $1 and r.api_group = 'folder.grafana.app' and r.resource = 'folders' and below.depth < $3
)
select max(depth) from below

-- name: contents
-- Everything in a folder ($2) and in the folders below it.
with recursive below as (
    select $2::text as name
    union
    select r.name
    from resource r join below on r.folder = below.name
    where r.namespace = $1 and r.api_group = 'folder.grafana.app' and r.resource = 'folders'
)
select r.api_group, r.resource, r.name, r.folder, r.manager_kind, r.manager_id, r.finalizers
from resource r join below on r.folder = below.name
where r.namespace = $1
order by r.api_group, r.resource, r.name

-- name: counts
-- The number of objects of each kind in a folder ($2) and in the folders below it.
with recursive below as (
    select $2::text as name
    union
    select r.name
    from resource r join below on r.folder = below.name
    where r.namespace = $1 and r.api_group = 'folder.grafana.app' and r.resource = 'folders'
)
select r.api_group, r.resource, count(*) as count
from resource r join below on r.folder = below.name
where r.namespace = $1
group by r.api_group, r.resource
order by r.api_group, r.resource
