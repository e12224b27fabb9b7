-- name: search
-- Dashboards ($2) and folders ($3) of a namespace by title, those starred by a user ($11) in an organization ($12) marked. Empty or
-- null asks for nothing: $4 part of the title, $5 names, $6 numbers, $7 folders by name, '' the root, $8 folders by number,
-- $9 tags that all must be there, $10 only starred. $13 limit, $14 offset.
-- The number of an object is that of dashwright.api.domain.classic. A spec with an escaped NUL is JSON that the database cannot read.
with found as (
    select r.uid, r.generation, r.name, r.resource, r.title,
           f.uid as folder_uid, f.name as folder, f.title as folder_title,
           exists (select from star s where s.user_id = $11 and s.org_id = $12 and s.dashboard_uid = r.name) as starred
    from resource r
    left join resource f on f.namespace = r.namespace and f.api_group = 'folder.grafana.app' and f.resource = 'folders' and f.name = r.folder
    where r.namespace = $1
      and ($2 and r.api_group = 'dashboard.grafana.app' and r.resource = 'dashboards'
           or $3 and r.api_group = 'folder.grafana.app' and r.resource = 'folders')
      and ($4 = '' or position(lower($4) in lower(r.title)) > 0)
      and ($5::text[] is null or r.name = any($5))
      and ($6::bigint[] is null
           or ('x' || right(replace(r.uid::text, '-', ''), 14))::bit(56)::bigint & 9007199254740991 = any($6))
      and ($7::text[] is null or coalesce(r.folder, '') = any($7))
      and ($8::bigint[] is null
           or coalesce(('x' || right(replace(f.uid::text, '-', ''), 14))::bit(56)::bigint & 9007199254740991, 0) = any($8))
      and (not $10 or exists (select from star s where s.user_id = $11 and s.org_id = $12 and s.dashboard_uid = r.name))
      and ($9::text[] is null or exists (
          select from resource_history h
          where h.uid = r.uid and h.generation = r.generation and r.resource = 'dashboards'
            and case when position('\u0000' in h.spec) > 0 or json_typeof(h.spec::json -> 'tags') is distinct from 'array' then false
                     else $9 <@ array(select json_array_elements_text(h.spec::json -> 'tags')) end
      ))
    order by lower(r.title), r.name
    limit $13 offset $14
)
select n.uid, n.name, n.resource, n.title, n.folder_uid, n.folder, n.folder_title, n.starred,
       case when position('\u0000' in h.spec) = 0 then (h.spec::json -> 'tags')::text end as tags
from found n left join resource_history h on h.uid = n.uid and h.generation = n.generation and n.resource = 'dashboards'
order by lower(n.title), n.name

-- name: folder_exists
select exists (select from resource where namespace = $1 and api_group = 'folder.grafana.app' and resource = 'folders' and name = $2)

-- name: logins
-- Of users and service accounts.
select id, login from "user" where id = any($1::bigint[])
