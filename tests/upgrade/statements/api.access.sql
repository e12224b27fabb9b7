-- name: tree
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

-- name: find
select uid, name, folder, number, title from resource
where namespace = $1 and api_group = $2 and resource = $3 and (name = $4 or number = $5)

-- name: rules
select l.resource, l.name, r.user_id, u.uid as user_uid, u.login, u.email, coalesce(u.is_service_account, false) as is_service_account, r.team_id,
       t.uid as team_uid, t.name as team, r.role, r.permission, r.created
from access_list l
join unnest($2::text[], $3::text[]) wanted(resource, name) using (resource, name)
left join access_rule r using (uid)
left join "user" u on u.id = r.user_id
left join team t on t.id = r.team_id
where l.namespace = $1
order by r.permission desc, r.role, lower(t.name), lower(u.login)

-- name: namespaces_of
select distinct l.namespace from access_rule r join access_list l using (uid)
where r.user_id = $1 or r.team_id in (select team_id from team_member where user_id = $1)

-- name: names_team
select exists (select from access_rule where team_id = $1)

-- name: uids_with_rules
select uid from access_list where uid = any($1::uuid[])

-- name: hold_members
select user_id from org_user where org_id = $1 and user_id = any($2::bigint[]) order by user_id for key share

-- name: hold_teams
select id from team where org_id = $1 and id = any($2::bigint[]) order by id for key share

-- name: put_list
insert into access_list (uid, namespace, resource, name) values ($1, $2, $3, $4)
on conflict (uid) do update set updated = now()

-- name: retire
delete from access_rule r
where uid = :uid and not exists (
    select from unnest(:user_ids::bigint[], :team_ids::bigint[], :roles::text[], :levels::smallint[]) wanted(user_id, team_id, role, permission)
    where (r.user_id, r.team_id, r.role, r.permission)
        is not distinct from (nullif(wanted.user_id, 0), nullif(wanted.team_id, 0), wanted.role, wanted.permission))

-- name: insert
insert into access_rule (uid, user_id, team_id, role, permission)
select :uid, nullif(user_id, 0), nullif(team_id, 0), role, permission
from unnest(:user_ids::bigint[], :team_ids::bigint[], :roles::text[], :levels::smallint[]) wanted(user_id, team_id, role, permission)
on conflict do nothing

-- name: note_change
insert into change (resource_version, feed, api_group, resource, namespace, name, uid, type, generation, metadata)
values (nextval('resource_version'), 1, 'access', 'permissions', $1, $2, $3, 'MODIFIED', 0, '{}')

-- name: notify_change
select pg_notify('change', 'resource')
