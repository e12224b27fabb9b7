-- name: lock_dashboards
-- Creators of dashboards hold the lock of objects of their namespace, so limits of dashboards change under that lock.
select lock_namespaces(1, array[namespace_of($1)])

-- name: lock
-- Takes the locks with the keys $1 until the end of the transaction, in the order of their hashes: otherwise two transactions could
-- wait for each other.
select pg_advisory_xact_lock(3, hash)
from (select distinct hashtext(lock_key) as hash from unnest($1::text[]) lock_key order by 1) hashes

-- name: limits
-- The limits of scopes $1, owners $2, targets $3, in their order: those that were set, else the defaults $4.
select coalesce(q."limit", a.fallback) as "limit"
from unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[]) with ordinality a (scope, owner, target, fallback, position)
left join quota q on q.target = a.target and (q.org_id, q.user_id) = (
    case a.scope when 'org' then a.owner else 0 end, case a.scope when 'user' then a.owner else 0 end)
order by a.position

-- name: limits_and_use
-- Limits and actual use of scopes $1, owners $2, targets $3 with defaults $4, in their order. The use of an unlimited target is counted
-- only if $5, otherwise it is 0. is_known is true if the owner exists. No other query counts use.
select a.scope, a.owner, a.target, l."limit",
    case a.scope
        when 'org' then exists (select from org where id = a.owner)
        when 'user' then exists (select from person where id = a.owner)
        else true
    end as is_known,
    case when l."limit" < 0 and not $5::boolean then 0 else case a.scope || '/' || a.target
        when 'org/org_user' then (select count(*) from org_user m join person p on p.id = m.user_id where m.org_id = a.owner)
        when 'org/dashboard' then (
            select coalesce(sum(count), 0)::bigint from resource_count
            where namespace = namespace_of(a.owner) and api_group = 'dashboard.grafana.app' and resource = 'dashboards')
        when 'org/data_source' then (select count(*) from data_source where org_id = a.owner)
        when 'org/api_key' then (select count(*) from api_key where org_id = a.owner)
        when 'org/alert_rule' then 0
        when 'user/org_user' then (select count(*) from org_user where user_id = a.owner)
        when 'global/user' then (select count(*) from person)
        when 'global/org' then (select count(*) from org)
        when 'global/dashboard' then (
            select coalesce(sum(count), 0)::bigint from resource_count
            where api_group = 'dashboard.grafana.app' and resource = 'dashboards')
        when 'global/data_source' then (select count(*) from data_source)
        when 'global/api_key' then (select count(*) from api_key)
        when 'global/alert_rule' then 0
    end end as used
from unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[]) with ordinality a (scope, owner, target, fallback, position)
left join quota q on q.target = a.target and (q.org_id, q.user_id) = (
    case a.scope when 'org' then a.owner else 0 end, case a.scope when 'user' then a.owner else 0 end)
cross join lateral (select coalesce(q."limit", a.fallback) as "limit") l
order by a.position

-- name: set_limit_of_org
-- No row if the organization does not exist; it cannot be deleted before the limit is committed.
insert into quota (org_id, target, "limit")
select id, $2, $3 from (select id from org where id = $1 for key share) owner
on conflict (org_id, user_id, target) do update set "limit" = excluded."limit", updated = now()
returning id

-- name: set_limit_of_user
insert into quota (user_id, target, "limit")
select id, $2, $3 from (select id from "user" where id = $1 and not is_service_account for key share) owner
on conflict (org_id, user_id, target) do update set "limit" = excluded."limit", updated = now()
returning id
