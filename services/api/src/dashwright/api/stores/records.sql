-- name: users
-- Members of an organization whose uids come after a uid, or one of them by its uid.
select p.uid as name, p.id as number, p.created, p.updated, p.login, p.email, p.name as title, p.is_admin, p.is_disabled, m.role,
       p.last_seen_at
from org_user m join person p on p.id = m.user_id
where m.org_id = :org_id and p.uid > :after and (:name::text is null or p.uid = :name)
order by p.uid limit :limit

-- name: teams
-- Teams of an organization whose uids come after a uid, or one of them by its uid.
select t.uid as name, t.id as number, t.created, t.updated, t.name as title, t.email
from team t
where t.org_id = :org_id and t.uid > :after and (:name::text is null or t.uid = :name)
order by t.uid limit :limit

-- name: preferences
-- Preferences of an organization, of its teams and of a user, by name. A deleted home dashboard is null.
select record.* from (
    select case when p.user_id > 0 then 'user-' || u.uid when p.team_id > 0 then 'team-' || t.uid else 'namespace' end as name,
           p.updated, p.theme, p.timezone, p.week_start, p.extra,
           (select r.name from resource r
            where r.namespace = namespace_of(p.org_id) and r.api_group = 'dashboard.grafana.app' and r.resource = 'dashboards'
              and r.name = p.home_dashboard_uid) as home_dashboard_uid
    from preferences p
    left join person u on u.id = p.user_id
    left join team t on t.id = p.team_id
    where p.org_id = :org_id and p.user_id in (0, :user_id)
) record
where record.name > :after and (:name::text is null or record.name = :name)
order by record.name limit :limit
