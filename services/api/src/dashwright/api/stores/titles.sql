-- name: search
-- Dashboards and folders of a namespace: folders first, then by title, from the end where $22 is set. Those starred by a user ($2) in an
-- organization ($3) are marked. What the caller may read: of dashboards everything ($4), what lies in folders ($5) or at the root ($6) but
-- for some ($7), and some by name ($8); of folders the same ($9 to $13). A folder that may not be read is not told, and none is found
-- unless $25 is set. Null or empty asks for nothing: $14 part of the title, $15 names, $16 numbers, $17 folders by name, '' the root,
-- $18 folders by number, 0 the root, $19 folders by their own numbers as well, $20 tags that all must be there, $21 only starred.
-- $23 limit, $24 offset.
select r.number, r.name, r.resource, r.title, r.tags, f.number as folder_number, f.name as folder, f.title as folder_title,
       exists (select from star s where s.user_id = $2 and s.org_id = $3 and s.dashboard_uid = r.name) as starred
from resource r
left join resource f on f.namespace = r.namespace and f.api_group = 'folder.grafana.app' and f.resource = 'folders' and f.name = r.folder
    and ($9 or f.folder = any($10::text[]) or f.folder is null and $11 and f.name <> all($12::text[]) or f.name = any($13::text[]))
where r.namespace = $1
  and (r.api_group = 'dashboard.grafana.app' and r.resource = 'dashboards'
           and ($4 or r.folder = any($5::text[]) or r.folder is null and $6 and r.name <> all($7::text[]) or r.name = any($8::text[]))
       or r.api_group = 'folder.grafana.app' and r.resource = 'folders' and $25
           and ($9 or r.folder = any($10::text[]) or r.folder is null and $11 and r.name <> all($12::text[]) or r.name = any($13::text[])))
  and ($14 = '' or position(lower($14) in lower(r.title)) > 0)
  and ($15::text[] is null or r.name = any($15))
  and ($16::bigint[] is null or r.number = any($16))
  and ($17::text[] is null or coalesce(r.folder, '') = any($17))
  and ($18::bigint[] is null or coalesce(f.number, case when r.folder is null then 0 end) = any($18) or $19 and r.number = any($18))
  and ($20::text[] is null or r.tags @> $20)
  and (not $21 or r.name in (select s.dashboard_uid from star s where s.user_id = $2 and s.org_id = $3))
order by r.resource <> 'folders', case when $22 then lower(r.title) end desc, case when not $22 then lower(r.title) end, r.name
limit $23 offset $24

-- name: deleted
-- Deleted dashboards of a namespace that can be made again, by title: of several of one name the last, and none whose name is taken.
-- What the caller may read: everything ($2), folders ($3), the root ($4) but for some ($5), some by name ($6); of folders the same
-- ($7 to $11). Null or empty asks for nothing: $12 part of the title, $13 names, $14 folders by name, '' the root. $15 limit, $16 offset.
-- $17 who deleted them, null for everybody.
select t.number, t.name, t.resource, t.title, '{}'::text[] as tags, f.number as folder_number, f.name as folder, f.title as folder_title,
       false as starred, t.deleted_at
from trash t
left join resource f on f.namespace = t.namespace and f.api_group = 'folder.grafana.app' and f.resource = 'folders' and f.name = t.folder
    and ($7 or f.folder = any($8::text[]) or f.folder is null and $9 and f.name <> all($10::text[]) or f.name = any($11::text[]))
where t.namespace = $1 and t.api_group = 'dashboard.grafana.app' and t.resource = 'dashboards'
  and ($2 or t.folder = any($3::text[]) or t.folder is null and $4 and t.name <> all($5::text[]) or t.name = any($6::text[]))
  and ($12 = '' or position(lower($12) in lower(t.title)) > 0)
  and ($13::text[] is null or t.name = any($13))
  and ($14::text[] is null or coalesce(t.folder, '') = any($14))
  and ($17::text is null or t.deleted_by = $17)
  and not exists (
      select from trash later
      where later.namespace = t.namespace and later.api_group = t.api_group and later.resource = t.resource and later.name = t.name
        and later.resource_version > t.resource_version)
  and not exists (
      select from resource r where r.namespace = t.namespace and r.api_group = t.api_group and r.resource = t.resource and r.name = t.name)
order by lower(t.title), t.name
limit $15 offset $16

-- name: tags
-- The tags of the dashboards of a namespace that a caller may read, as above: everything ($2), folders ($3), the root ($4) but for some
-- ($5), some by name ($6).
select term, count(*) as count
from resource r, lateral (select distinct unnest(r.tags) as term) tag
where r.namespace = $1 and r.api_group = 'dashboard.grafana.app' and r.resource = 'dashboards'
  and ($2 or r.folder = any($3::text[]) or r.folder is null and $4 and r.name <> all($5::text[]) or r.name = any($6::text[]))
group by term
order by term

-- name: name_by_number
-- The object of a kind that has a number.
select name from resource where namespace = $1 and api_group = $2 and resource = $3 and number = $4

-- name: account_names
-- Users and service accounts.
select id, login, email from "user" where id = any($1::bigint[])

-- name: marks
-- Whether a user has starred a dashboard, by organization and name, and whether it has rules of access of its own, by uid.
select exists (select from star where user_id = $1 and org_id = $2 and dashboard_uid = $3) as is_starred,
       exists (select from access_list where uid = $4) as has_rules
