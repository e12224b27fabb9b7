-- name: lock_dashboards
select pg_advisory_xact_lock(1, 1)

-- name: lock
select pg_advisory_xact_lock(3, number)
from (select distinct hashtext(claim) as number from unnest($1::text[]) claim order by 1) numbers

-- name: limits
select coalesce(q."limit", a.fallback) as "limit"
from unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[]) with ordinality a (scope, owner, target, fallback, position)
left join quota q on q.target = a.target and (q.org_id, q.user_id) = (
    case a.scope when 'org' then a.owner else 0 end, case a.scope when 'user' then a.owner else 0 end)
order by a.position

-- name: state
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

-- name: put_of_org
insert into quota (org_id, target, "limit")
select id, $2, $3 from (select id from org where id = $1 for key share) owner
on conflict (org_id, user_id, target) do update set "limit" = excluded."limit", updated = now()
returning id

-- name: put_of_user
insert into quota (user_id, target, "limit")
select id, $2, $3 from (select id from "user" where id = $1 and not is_service_account for key share) owner
on conflict (org_id, user_id, target) do update set "limit" = excluded."limit", updated = now()
returning id
