-- name: find
-- Annotations of an organization ($1), the newest first. What the caller may read: those of the organization ($2), and those of dashboards:
-- of all ($3), of those in folders ($4) or at the root ($5) but for some ($6), and of some by name ($7). Null asks for nothing: $8 the number,
-- $9 from and $10 to (both or none), $11 the maker, $12 the dashboard by name, $13 by number, $14 the panel, $15 tags that all must be there,
-- or one of them where $16 is set. $17 limit.
select a.id, coalesce(r.number, 0) as dashboard_number, r.name as dashboard, r.folder, a.panel_id, coalesce(a.user_id, 0) as user_id,
       coalesce(u.login, '') as login, coalesce(u.email, '') as email, a.time, a.time_end, a.text, a.tags, a.data, a.created, a.updated
from annotation a
left join resource r on r.uid = a.dashboard
left join "user" u on u.id = a.user_id
where a.org_id = $1
  and (a.dashboard is null and $2
       or a.dashboard is not null
           and ($3 or r.folder = any($4::text[]) or r.folder is null and $5 and r.name <> all($6::text[]) or r.name = any($7::text[])))
  and ($8::bigint is null or a.id = $8)
  and ($9::bigint is null or a.time <= $10::bigint and a.time_end >= $9)
  and ($11::bigint is null or a.user_id = $11)
  and ($12::text is null or r.name = $12)
  and ($13::bigint is null or r.number = $13)
  and ($14::bigint is null or a.panel_id = $14)
  and ($15::text[] is null or case when $16 then a.tags && $15 else a.tags @> $15 end)
order by a.time_end desc, a.time desc, a.id desc
limit $17

-- name: tags
-- The tags of the annotations that a caller may read, as above ($1 to $7), that hold a text ($8) in any case of letters. $9 limit.
select tag, count(*) as count
from annotation a
left join resource r on r.uid = a.dashboard, unnest(a.tags) as tag
where a.org_id = $1
  and (a.dashboard is null and $2
       or a.dashboard is not null
           and ($3 or r.folder = any($4::text[]) or r.folder is null and $5 and r.name <> all($6::text[]) or r.name = any($7::text[])))
  and position(lower($8) in lower(tag)) > 0
group by tag
order by tag
limit $9

-- name: insert
-- Inserts nothing if the dashboard does not exist. A creator that is not a user has no number.
insert into annotation (org_id, dashboard, panel_id, user_id, time, time_end, text, tags, data, created, updated)
select $1, $2, $3, (select id from "user" where id = $4), $5, $6, $7, $8, coalesce($9::json, '{}'), $10, $10
where $2::uuid is null or exists (select from resource where uid = $2 for key share)
returning id

-- name: change
-- Null keeps a column; a span that would end before it begins is swapped.
update annotation
set time = least(coalesce($3, time), coalesce($4, time_end)), time_end = greatest(coalesce($3, time), coalesce($4, time_end)),
    text = coalesce($5, text), tags = coalesce($6, tags), data = coalesce($7::json, data), updated = $8
where org_id = $1 and id = $2
returning id

-- name: delete
delete from annotation where org_id = $1 and id = $2 returning id

-- name: delete_of_panel
with gone as (delete from annotation where org_id = $1 and dashboard = $2 and panel_id = $3 returning id)
select count(*) from gone
