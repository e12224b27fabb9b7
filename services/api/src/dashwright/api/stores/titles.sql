-- name: search
-- Dashboards ($2) and folders ($3) of a namespace by title, those starred by a user ($11) in an organization ($12) marked. Empty or
-- null asks for nothing: $4 part of the title, $5 names, $6 numbers, $7 folders by name, '' the root, $8 folders by number,
-- $9 tags that all must be there, $10 only starred. $13 limit, $14 offset.
select r.number, r.name, r.resource, r.title, r.tags, f.number as folder_number, f.name as folder, f.title as folder_title,
       exists (select from star s where s.user_id = $11 and s.org_id = $12 and s.dashboard_uid = r.name) as starred
from resource r
left join resource f on f.namespace = r.namespace and f.api_group = 'folder.grafana.app' and f.resource = 'folders' and f.name = r.folder
where r.namespace = $1
  and ($2 and r.api_group = 'dashboard.grafana.app' and r.resource = 'dashboards'
       or $3 and r.api_group = 'folder.grafana.app' and r.resource = 'folders')
  and ($4 = '' or position(lower($4) in lower(r.title)) > 0)
  and ($5::text[] is null or r.name = any($5))
  and ($6::bigint[] is null or r.number = any($6))
  and ($7::text[] is null or coalesce(r.folder, '') = any($7))
  and ($8::bigint[] is null or coalesce(f.number, 0) = any($8))
  and ($9::text[] is null or r.tags @> $9)
  and (not $10 or exists (select from star s where s.user_id = $11 and s.org_id = $12 and s.dashboard_uid = r.name))
order by lower(r.title), r.name
limit $13 offset $14

-- name: folder_exists
select exists (select from resource where namespace = $1 and api_group = 'folder.grafana.app' and resource = 'folders' and name = $2)

-- name: logins
-- Of users and service accounts.
select id, login from "user" where id = any($1::bigint[])
