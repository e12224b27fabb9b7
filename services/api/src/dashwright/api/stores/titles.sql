-- fragment: readable
-- Holds for an object r that the caller may read: any object, one in these folders, one at the root that is not hidden, or one by name.
(:readable_all or r.folder = any(:readable_folders::text[]) or r.folder is null and :readable_root and r.name <> all(:readable_hidden::text[])
    or r.name = any(:readable_names::text[]))

-- fragment: readable_container
-- Holds for a folder r that the caller may read.
(:container_all or r.folder = any(:container_folders::text[]) or r.folder is null and :container_root and r.name <> all(:container_hidden::text[])
    or r.name = any(:container_names::text[]))

-- fragment: readable_parent
-- Holds for a folder f that the caller may read.
(:container_all or f.folder = any(:container_folders::text[]) or f.folder is null and :container_root and f.name <> all(:container_hidden::text[])
    or f.name = any(:container_names::text[]))

-- fragment: found
-- Dashboards and folders r of a namespace, each with the folder f that contains it. A folder that the caller may not read is null, and
-- folders are found only with include_folders. A filter that is null or empty is not applied. In folders '' is the root, and in
-- folder_numbers 0. With include_numbered_folders the folders with these numbers are found, too.
from resource r
left join resource f on f.namespace = r.namespace and f.api_group = 'folder.grafana.app' and f.resource = 'folders' and f.name = r.folder
    and {readable_parent}
where r.namespace = :namespace
  and (r.api_group = 'dashboard.grafana.app' and r.resource = 'dashboards' and {readable}
       or r.api_group = 'folder.grafana.app' and r.resource = 'folders' and :include_folders and {readable_container})
  and (:containing = '' or position(lower(:containing) in lower(r.title)) > 0)
  and (:names::text[] is null or r.name = any(:names))
  and (:numbers::bigint[] is null or r.number = any(:numbers))
  and (:folders::text[] is null or coalesce(r.folder, '') = any(:folders))
  and (:folder_numbers::bigint[] is null or coalesce(f.number, case when r.folder is null then 0 end) = any(:folder_numbers)
       or :include_numbered_folders and r.number = any(:folder_numbers))
  and (:tags::text[] is null or r.tags @> :tags)
  and (not :only_starred or r.name in (select s.dashboard_uid from star s where s.user_id = :user_id and s.org_id = :org_id))
  {conditions}

-- condition: permitted
-- The caller has a permission on the dashboard or folder in addition to that to read it.
r.resource = 'dashboards'
    and (:permitted_all or r.folder = any(:permitted_folders::text[])
         or r.folder is null and :permitted_root and r.name <> all(:permitted_hidden::text[]) or r.name = any(:permitted_names::text[]))
or r.resource = 'folders'
    and (:permitted_container_all or r.folder = any(:permitted_container_folders::text[])
         or r.folder is null and :permitted_container_root and r.name <> all(:permitted_container_hidden::text[])
         or r.name = any(:permitted_container_names::text[]))

-- condition: shared
-- The caller may not read the folder that contains the object.
r.folder is not null and f.name is null

-- condition: shows_panel
-- A dashboard that shows a library panel.
r.resource = 'dashboards' and r.refs @> array[:library_panel::text]

-- condition: untagged
r.tags = '{}'

-- name: search
-- Dashboards and folders: folders first, then by title. The stars of user_id are marked.
select r.number, r.name, r.resource, r.title, r.tags, f.number as folder_number, f.name as folder, f.title as folder_title,
       r.manager_kind, r.manager_id,
       exists (select from star s where s.user_id = :user_id and s.org_id = :org_id and s.dashboard_uid = r.name) as starred
{found}
order by r.resource <> 'folders', case when :descending then lower(r.title) end desc, case when not :descending then lower(r.title) end, r.name
limit :limit offset :offset

-- name: count_found
-- The number of the dashboards and folders that a search finds.
select count(*) {found}

-- name: tags_of_found
-- The most frequent tags of what a search finds, and the number of all their uses.
with term as (
    select term, count(*) as count
    from (select r.tags {found}) matches, lateral (select distinct unnest(matches.tags) as term) tag
    group by term)
select term, count, (sum(count) over ())::bigint as total from term order by count desc, term limit :limit

-- name: deleted
-- Deleted dashboards of a namespace that can be restored, by title. Of several with one name only the last can be restored, and only if
-- no object has the name. A filter that is null or empty is not applied. In folders '' is the root.
select r.number, r.name, r.resource, r.title, '{}'::text[] as tags, f.number as folder_number, f.name as folder, f.title as folder_title,
       null as manager_kind, null as manager_id, false as starred, r.deleted_at
from trash r
left join resource f on f.namespace = r.namespace and f.api_group = 'folder.grafana.app' and f.resource = 'folders' and f.name = r.folder
    and {readable_parent}
where r.namespace = :namespace and r.api_group = 'dashboard.grafana.app' and r.resource = 'dashboards'
  and {readable}
  and (:containing = '' or position(lower(:containing) in lower(r.title)) > 0)
  and (:names::text[] is null or r.name = any(:names))
  and (:folders::text[] is null or coalesce(r.folder, '') = any(:folders))
  and (:deleted_by::text is null or r.deleted_by = :deleted_by)
  and not exists (
      select from trash later
      where later.namespace = r.namespace and later.api_group = r.api_group and later.resource = r.resource and later.name = r.name
        and later.resource_version > r.resource_version)
  and not exists (
      select from resource o where o.namespace = r.namespace and o.api_group = r.api_group and o.resource = r.resource and o.name = r.name)
order by lower(r.title), r.name
limit :limit offset :offset

-- name: tags
-- The tags of the dashboards of a namespace that a caller may read.
select term, count(*) as count
from resource r, lateral (select distinct unnest(r.tags) as term) tag
where r.namespace = :namespace and r.api_group = 'dashboard.grafana.app' and r.resource = 'dashboards' and {readable}
group by term
order by term

-- name: name_by_numeric_id
-- The name of the object of a kind with a numeric id.
select name from resource where namespace = $1 and api_group = $2 and resource = $3 and number = $4

-- name: account_names
-- The names of users and service accounts.
select id, login, email from "user" where id = any($1::bigint[])

-- name: dashboard_flags
-- Whether a user has starred a dashboard (by organization and name), and whether it has access rules of its own (by uid).
select exists (select from star where user_id = $1 and org_id = $2 and dashboard_uid = $3) as is_starred,
       exists (select from access_list where uid = $4) as has_rules
