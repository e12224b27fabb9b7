-- name: folders
-- The folders of the namespace $1, the oldest first, at most $2.
select r.uid, r.resource, r.name, r.generation, r.title, coalesce(r.folder, '') as folder, r.manager_kind is not null as is_managed,
       h.spec::jsonb ->> 'description' as description
from resource r
join resource_history h on h.uid = r.uid and h.generation = r.generation
where r.namespace = $1 and r.api_group = 'folder.grafana.app' and r.resource = 'folders' and r.deletion_timestamp is null
order by r.created_at, r.name
limit $2

-- name: objects
-- The unmanaged dashboards and library panels of the namespace $1 without bodies, the oldest first, at most $3; $2 are their folders, null for all.
select uid, resource, name, generation, title, coalesce(folder, '') as folder, false as is_managed
from resource
where namespace = $1 and api_group = 'dashboard.grafana.app' and resource in ('dashboards', 'librarypanels') and deletion_timestamp is null
  and manager_kind is null and ($2::text[] is null or coalesce(folder, '') = any ($2))
order by created_at, name
limit $3

-- name: versions
-- The generations $2 of the objects $1, with the present name and e-mail address of each author. If $3 is true, all earlier stored
-- generations, too.
select h.uid, r.resource, h.generation, h.stored_version, h.spec, h.metadata, h.created_at, h.created_by, h.message,
       coalesce(nullif(u.name, ''), u.login) as author, u.email
from unnest($1::uuid[], $2::bigint[]) as requested (uid, generation)
join resource_history h on h.uid = requested.uid and (h.generation = requested.generation or ($3 and h.generation < requested.generation))
join resource r on r.uid = h.uid
left join "user" u on u.id = case when h.created_by ~ '^(user|service-account):[0-9]{1,18}$' then split_part(h.created_by, ':', 2)::bigint end
order by h.uid, h.generation

-- name: adopt
-- Makes the repository $1 of the generation $2 and the name $3 the manager of the objects $4 that still have the generations $5 and no
-- manager. $6 are paths and $7 checksums.
update resource r
set annotations = r.annotations || jsonb_strip_nulls(jsonb_build_object('grafana.app/managedBy', 'repo', 'grafana.app/managerId', $3::text,
        'grafana.app/sourcePath', exported.path, 'grafana.app/sourceChecksum', nullif(exported.checksum, ''))),
    managed_fields = '[]'
from unnest($4::uuid[], $5::bigint[], $6::text[], $7::text[]) as exported (uid, generation, path, checksum)
where r.uid = exported.uid and r.generation = exported.generation and r.manager_kind is null and r.deletion_timestamp is null
  and r.finalizers = '{}' and r.owner_references = '[]'
  and exists (select from resource where uid = $1 and generation = $2 and deletion_timestamp is null)
returning r.uid

-- name: invalidate_plans
-- Increases the edition of a repository, so that syncs and edits that planned with the former edition plan again.
insert into repository_commit (uid, ref, generation, edition, entries)
select uid, null, generation, 1, 0 from resource where uid = $1
on conflict (uid) do update set edition = repository_commit.edition + 1

-- name: author
-- The name and e-mail address of the user or service account $1.
select coalesce(nullif(name, ''), login) as name, email from "user" where id = $1
