-- name: search
-- Library panels of a namespace by name, from the end where $13 is set, and in every row how many there are: at least one row comes back.
-- What the caller may read: everything ($2), what lies in folders ($3) or at the root ($4) but for some ($5), and some by name ($6).
-- Empty or null asks for nothing: $7 part of the name or the description, $8 the whole name, $9 uids, $10 types, $11 folders, '' the root,
-- $16 folders by number, 0 the root, $12 none of these uids. $14 limit, $15 offset. A body with an escaped NUL is JSON that the database cannot look into.
with matching as (
    select r.uid, r.generation, r.name, r.title
    from resource r left join resource_history h on $7 <> '' and h.uid = r.uid and h.generation = r.generation
    where r.namespace = $1 and r.api_group = 'dashboard.grafana.app' and r.resource = 'librarypanels'
      and ($2 or r.folder = any($3::text[]) or r.folder is null and $4 and r.name <> all($5::text[]) or r.name = any($6::text[]))
      and ($7 = '' or position(lower($7) in lower(r.title)) > 0
           or position(lower($7) in lower(case when position('\u0000' in h.spec) = 0 then h.spec::json ->> 'description' end)) > 0)
      and ($8 = '' or r.title = $8)
      and ($9::text[] is null or r.name = any($9))
      and ($10::text[] is null or r.subtype = any($10))
      and ($11::text[] is null or coalesce(r.folder, '') = any($11))
      and ($16::bigint[] is null or r.folder is null and 0 = any($16) or r.folder in (
               select f.name from resource f
               where f.namespace = $1 and f.api_group = 'folder.grafana.app' and f.resource = 'folders' and f.number = any($16)))
      and r.name <> all($12::text[])
), page as (
    select * from matching
    order by case when $13 then lower(title) end desc, case when not $13 then lower(title) end, name
    limit $14 offset $15
)
select total.count as total, r.number, r.name, r.generation, r.title, r.subtype, r.created_at, r.created_by,
       coalesce(r.updated_at, r.created_at) as updated_at, coalesce(r.updated_by, r.created_by) as updated_by, h.spec,
       coalesce(case when position('\u0000' in h.spec) = 0 then h.spec::json ->> 'description' end, '') as description,
       r.folder, f.number as folder_number, f.title as folder_title, f.folder as folder_parent,
       (select count(*) from resource d
        where d.namespace = $1 and d.api_group = 'dashboard.grafana.app' and d.resource = 'dashboards' and d.refs @> array[r.name]) as connections
from (select count(*) as count from matching) total
left join page on true
left join resource r on r.uid = page.uid
left join resource_history h on h.uid = page.uid and h.generation = page.generation
left join resource f on f.namespace = $1 and f.api_group = 'folder.grafana.app' and f.resource = 'folders' and f.name = r.folder
order by case when $13 then lower(r.title) end desc, case when not $13 then lower(r.title) end, r.name

-- name: connections
-- The dashboards that show a library panel ($2) and that the caller may read: everything ($3), in folders ($4) or at the root ($5) but for
-- some ($6), and some by name ($7).
select r.number, r.name, r.created_at, r.created_by
from resource r
where r.namespace = $1 and r.api_group = 'dashboard.grafana.app' and r.resource = 'dashboards' and r.refs @> array[$2::text]
  and ($3 or r.folder = any($4::text[]) or r.folder is null and $5 and r.name <> all($6::text[]) or r.name = any($7::text[]))
order by r.name
