-- name: ancestors
with recursive way as (
    select name, title, folder, 1 as step from resource
    where namespace = $1 and api_group = 'folder.grafana.app' and resource = 'folders' and name = $2
    union all
    select r.name, r.title, r.folder, way.step + 1
    from resource r join way on r.name = way.folder
    where r.namespace = $1 and r.api_group = 'folder.grafana.app' and r.resource = 'folders' and way.step < $3
)
select name, title, folder from way order by step desc

-- name: height
with recursive below as (
    select $2::text as name, 1 as depth
    union all
    select r.name, below.depth + 1
    from resource r join below on r.folder = below.name
    where r.namespace = $1 and r.api_group = 'folder.grafana.app' and r.resource = 'folders' and below.depth < $3
)
select max(depth) from below

-- name: contents
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
