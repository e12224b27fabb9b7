-- name: tree
-- The folders of a namespace and what they lie in, and the objects with rules of access of their own, which are null for the others.
with own as (
    select l.uid, l.resource, l.name,
           coalesce(array_agg(r.user_id) filter (where r.uid is not null), '{}') as users,
           coalesce(array_agg(r.team_id) filter (where r.uid is not null), '{}') as teams,
           coalesce(array_agg(r.role) filter (where r.uid is not null), '{}') as roles,
           coalesce(array_agg(r.permission) filter (where r.uid is not null), '{}') as permissions
    from access_list l left join access_rule r using (uid)
    where l.namespace = $1
    group by l.uid
)
select f.resource, f.name, f.folder, own.users, own.teams, own.roles, own.permissions
from resource f left join own using (uid)
where f.namespace = $1 and f.api_group = 'folder.grafana.app' and f.resource = 'folders'
union all
select resource, name, null, users, teams, roles, permissions from own where resource <> 'folders'
