-- name: server
with people as (
    select id, is_admin, is_disabled, last_seen_at > now() - interval '30 days' as is_active, last_seen_at > now() - interval '1 day' as is_daily
    from person
), ranked as (
    select p.id, p.is_active, p.is_daily,
           min(case m.role when 'Admin' then 1 when 'Editor' then 2 when 'Viewer' then 3 else 4 end) as rank
    from people p join org_user m on m.user_id = p.id
    group by p.id, p.is_active, p.is_daily
)
select (select count(*) from org) as orgs,
       (select count(*) from resource where resource = 'dashboards') as dashboards,
       (select count(*) from resource where resource = 'folders') as folders,
       (select count(distinct (namespace, tag)) from resource, unnest(tags) as tag where resource = 'dashboards') as tags,
       (select count(*) from star) as stars,
       (select count(*) from team) as teams,
       (select count(*) from data_source) as datasources,
       (select count(*) from api_key where service_account_id is null) as apikeys,
       (select count(*) from "user" where is_service_account) as serviceaccounts,
       (select count(*) from people) as users,
       (select count(*) from ranked where rank = 1) as admins,
       (select count(*) from ranked where rank = 2) as editors,
       (select count(*) from ranked where rank = 3) as viewers,
       (select count(*) from people where is_active) as active_users,
       (select count(*) from ranked where rank = 1 and is_active) as active_admins,
       (select count(*) from ranked where rank = 2 and is_active) as active_editors,
       (select count(*) from ranked where rank = 3 and is_active) as active_viewers,
       (select count(*) from people where is_active) as monthly_active_users,
       (select count(*) from people where is_daily) as daily_active_users,
       (select count(*) from ranked where rank = 1 and is_daily) as daily_active_admins,
       (select count(*) from ranked where rank = 2 and is_daily) as daily_active_editors,
       (select count(*) from ranked where rank = 3 and is_daily) as daily_active_viewers
