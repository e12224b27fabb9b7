-- name: search
-- Dashboards and folders of a namespace: folders first, then by title, from the end where $19 is set. Those starred by a user ($2) in an
-- organization ($3) are marked. What the caller may read: of dashboards everything ($4), what lies in folders ($5) or at the root ($6) but
-- for some ($7), and some by name ($8); of folders everything ($9) or some by name ($10). A folder that may not be read is not told, and
-- none is found unless $22 is set.
-- Null or empty asks for nothing: $11 part of the title, $12 names, $13 numbers, $14 folders by name, '' the root, $15 folders by number,
-- 0 the root, $16 folders by their own numbers as well, $17 tags that all must be there, $18 only starred. $20 limit, $21 offset.
select r.number, r.name, r.resource, r.title, r.tags, f.number as folder_number, f.name as folder, f.title as folder_title,
       exists (select from star s where s.user_id = $2 and s.org_id = $3 and s.dashboard_uid = r.name) as starred
from resource r
left join resource f on f.namespace = r.namespace and f.api_group = 'folder.grafana.app' and f.resource = 'folders' and f.name = r.folder
                    and ($9 or f.name = any($10::text[]))
where r.namespace = $1
  and (r.api_group = 'dashboard.grafana.app' and r.resource = 'dashboards'
           and ($4 or r.folder = any($5::text[]) or r.folder is null and $6 and r.name <> all($7::text[]) or r.name = any($8::text[]))
       or r.api_group = 'folder.grafana.app' and r.resource = 'folders' and $22 and ($9 or r.name = any($10::text[])))
  and ($11 = '' or position(lower($11) in lower(r.title)) > 0)
  and ($12::text[] is null or r.name = any($12))
  and ($13::bigint[] is null or r.number = any($13))
  and ($14::text[] is null or coalesce(r.folder, '') = any($14))
  and ($15::bigint[] is null or coalesce(f.number, case when r.folder is null then 0 end) = any($15) or $16 and r.number = any($15))
  and ($17::text[] is null or r.tags @> $17)
  and (not $18 or exists (select from star s where s.user_id = $2 and s.org_id = $3 and s.dashboard_uid = r.name))
order by r.resource <> 'folders', case when $19 then lower(r.title) end desc, case when not $19 then lower(r.title) end, r.name
limit $20 offset $21

-- name: tags
-- The tags of the dashboards of a namespace that a caller may read, as above: everything ($2), folders ($3), the root ($4) but for some
-- ($5), some by name ($6).
select term, count(*) as count
from resource r, lateral (select distinct unnest(r.tags) as term) tag
where r.namespace = $1 and r.api_group = 'dashboard.grafana.app' and r.resource = 'dashboards'
  and ($2 or r.folder = any($3::text[]) or r.folder is null and $4 and r.name <> all($5::text[]) or r.name = any($6::text[]))
group by term
order by term

-- name: named
-- The object of a kind that has a number.
select name from resource where namespace = $1 and api_group = $2 and resource = $3 and number = $4

-- name: folder_exists
select exists (select from resource where namespace = $1 and api_group = 'folder.grafana.app' and resource = 'folders' and name = $2)

-- name: logins
-- Of users and service accounts.
select id, login from "user" where id = any($1::bigint[])
