-- name: get
select p.theme, p.timezone, p.week_start, p.extra,
       (select r.name from resource r
        where r.namespace = namespace_of(p.org_id) and r.api_group = 'dashboard.grafana.app' and r.resource = 'dashboards'
          and r.name = p.home_dashboard_uid) as home_dashboard_uid
from preferences p
where p.org_id = $1 and p.user_id = $2 and p.team_id = $3

-- name: hold
insert into preferences (org_id, user_id, team_id) values ($1, $2, $3)
on conflict (org_id, user_id, team_id) do update set updated = now()

-- name: put
update preferences
set home_dashboard_uid = :home_dashboard_uid, theme = :theme, timezone = :timezone, week_start = :week_start,
    extra = :extra::text::jsonb, updated = now()
where org_id = :org_id and user_id = :user_id and team_id = :team_id

-- name: dashboard_exists
select exists (
    select from resource
    where namespace = namespace_of($1) and api_group = 'dashboard.grafana.app' and resource = 'dashboards' and name = $2
)

-- name: home_dashboards
select r.name, r.title, r.folder
from preferences p
join resource r on r.namespace = namespace_of(p.org_id) and r.api_group = 'dashboard.grafana.app' and r.resource = 'dashboards'
               and r.name = p.home_dashboard_uid
where p.org_id = $1
  and ($2 > 0 and p.user_id = $2 or p.user_id = 0 and (p.team_id = 0 or p.team_id in (select team_id from team_member where user_id = $2)))
order by p.user_id = 0, p.team_id = 0, p.team_id
