-- fragment: readable
-- Holds for an annotation a on a dashboard r that the caller may read: of the organization, of any dashboard, of one in these folders, of
-- one at the root that is not hidden, or of one by name.
(a.dashboard is null and :include_organization
    or a.dashboard is not null and (:readable_all or r.folder = any(:readable_folders::text[]) or r.folder is null and :readable_root and r.name <> all(:readable_hidden::text[])
    or r.name = any(:readable_names::text[])))

-- name: find
-- Readable annotations of an organization, the newest first. A filter that is null is not applied. Either all tags must be present, or
-- one of them with any_tag.
select a.id, coalesce(r.number, 0) as dashboard_number, r.name as dashboard, r.folder, a.panel_id, coalesce(a.user_id, 0) as user_id,
       coalesce(u.login, '') as login, coalesce(u.email, '') as email, a.time, a.time_end, a.text, a.tags, a.data, a.created, a.updated
from annotation a
left join resource r on r.uid = a.dashboard
left join "user" u on u.id = a.user_id
where a.org_id = :org_id
  and {readable}
  and (:id::bigint is null or a.id = :id)
  and (:from_time::bigint is null or a.time <= :to_time::bigint and a.time_end >= :from_time)
  and (:user_id::bigint is null or a.user_id = :user_id)
  and (:dashboard::text is null or r.name = :dashboard)
  and (:dashboard_number::bigint is null or r.number = :dashboard_number)
  and (:panel_id::bigint is null or a.panel_id = :panel_id)
  and (:tags::text[] is null or case when :any_tag then a.tags && :tags else a.tags @> :tags end)
order by a.time_end desc, a.time desc, a.id desc
limit :limit

-- name: tags
-- The tags that contain a string, in any letter case, with their numbers of readable annotations.
select tag, count(*) as count
from annotation a
left join resource r on r.uid = a.dashboard, unnest(a.tags) as tag
where a.org_id = :org_id
  and {readable}
  and position(lower(:containing) in lower(tag)) > 0
group by tag
order by tag
limit :limit

-- name: insert
-- Inserts nothing if the dashboard does not exist. A creator who is no longer in the table of users is stored as null.
insert into annotation (org_id, dashboard, panel_id, user_id, time, time_end, text, tags, data, created, updated)
select :org_id, :dashboard, :panel_id, (select id from "user" where id = :user_id), :time, :time_end, :text, :tags,
       coalesce(:data::json, '{}'), :now, :now
where :dashboard::uuid is null or exists (select from resource where uid = :dashboard for key share)
returning id

-- name: change
-- Null keeps a column. If the end is before the start, both are swapped.
update annotation
set time = least(coalesce(:time, time), coalesce(:time_end, time_end)), time_end = greatest(coalesce(:time, time), coalesce(:time_end, time_end)),
    text = coalesce(:text, text), tags = coalesce(:tags, tags), data = coalesce(:data::json, data), updated = :now
where org_id = :org_id and id = :id
returning id

-- name: delete
delete from annotation where org_id = $1 and id = $2 returning id

-- name: delete_of_panel
with deleted as (delete from annotation where org_id = $1 and dashboard = $2 and panel_id = $3 returning id)
select count(*) from deleted
