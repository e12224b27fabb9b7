-- fragment: readable
-- Holds for an object r that the caller may read: any object, one in these folders, one at the root that is not hidden, or one by name.
(:readable_all or r.folder = any(:readable_folders::text[]) or r.folder is null and :readable_root and r.name <> all(:readable_hidden::text[])
    or r.name = any(:readable_names::text[]))

-- name: search
-- Readable library panels of a namespace by name. Every row has the number of matches, so at least one row is returned. A filter that is
-- null or empty is not applied. In folders '' is the root, in folder_numbers 0. A body with an escaped NUL is JSON that PostgreSQL cannot
-- parse, so its description is not read.
with matching as (
    select r.uid, r.generation, r.name, r.title
    from resource r left join resource_history h on :containing <> '' and h.uid = r.uid and h.generation = r.generation
    where r.namespace = :namespace and r.api_group = 'dashboard.grafana.app' and r.resource = 'librarypanels'
      and {readable}
      and (:containing = '' or position(lower(:containing) in lower(r.title)) > 0
           or position(lower(:containing) in lower(case when position('\u0000' in h.spec) = 0 then h.spec::json ->> 'description' end)) > 0)
      and (:name = '' or r.title = :name)
      and (:uids::text[] is null or r.name = any(:uids))
      and (:types::text[] is null or r.subtype = any(:types))
      and (:folders::text[] is null or coalesce(r.folder, '') = any(:folders))
      and (:folder_numbers::bigint[] is null or r.folder is null and 0 = any(:folder_numbers) or r.folder in (
               select f.name from resource f
               where f.namespace = :namespace and f.api_group = 'folder.grafana.app' and f.resource = 'folders'
                 and f.number = any(:folder_numbers)))
      and r.name <> all(:except_uids::text[])
), page as (
    select * from matching
    order by case when :descending then lower(title) end desc, case when not :descending then lower(title) end, name
    limit :limit offset :offset
)
select total.count as total, r.number, r.name, r.generation, r.title, r.subtype, r.created_at, r.created_by,
       coalesce(r.updated_at, r.created_at) as updated_at, coalesce(r.updated_by, r.created_by) as updated_by, h.spec,
       coalesce(case when position('\u0000' in h.spec) = 0 then h.spec::json ->> 'description' end, '') as description,
       r.folder, f.number as folder_number, f.title as folder_title, f.folder as folder_parent,
       (select count(*) from resource d
        where d.namespace = :namespace and d.api_group = 'dashboard.grafana.app' and d.resource = 'dashboards'
          and d.refs @> array[r.name]) as dashboard_count
from (select count(*) as count from matching) total
left join page on true
left join resource r on r.uid = page.uid
left join resource_history h on h.uid = page.uid and h.generation = page.generation
left join resource f on f.namespace = :namespace and f.api_group = 'folder.grafana.app' and f.resource = 'folders' and f.name = r.folder
order by case when :descending then lower(r.title) end desc, case when not :descending then lower(r.title) end, r.name

-- name: dashboards_using
-- The readable dashboards that use a library panel.
select r.number, r.name, r.created_at, r.created_by
from resource r
where r.namespace = :namespace and r.api_group = 'dashboard.grafana.app' and r.resource = 'dashboards' and r.refs @> array[:uid::text]
  and {readable}
order by r.name

-- name: list_repeated
-- Library panels that are repeated by a variable. The search in the text only avoids to parse all other bodies.
select r.name, h.spec
from resource r
join resource_history h on h.uid = r.uid and h.generation = r.generation
where r.namespace = $1 and r.api_group = 'dashboard.grafana.app' and r.resource = 'librarypanels'
  and position('"repeat":"' in h.spec) > 0
order by r.name
limit 1000
