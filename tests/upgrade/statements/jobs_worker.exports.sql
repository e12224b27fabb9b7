-- name: folders
select uid, name, generation, title, coalesce(folder, '') as folder, manager_kind is not null as is_managed
from resource
where namespace = $1 and api_group = 'folder.grafana.app' and resource = 'folders' and deletion_timestamp is null
order by created_at, name
limit $2

-- name: dashboards
select uid, name, generation, title, coalesce(folder, '') as folder, false as is_managed
from resource
where namespace = $1 and api_group = 'dashboard.grafana.app' and resource = 'dashboards' and deletion_timestamp is null
  and manager_kind is null and ($2::text[] is null or coalesce(folder, '') = any ($2))
order by created_at, name
limit $3

-- name: versions
select h.uid, h.generation, h.stored_version, h.spec, h.metadata, h.created_at, h.created_by, h.message,
       coalesce(nullif(u.name, ''), u.login) as author, u.email
from unnest($1::uuid[], $2::bigint[]) as wanted (uid, generation)
join resource_history h on h.uid = wanted.uid and (h.generation = wanted.generation or ($3 and h.generation < wanted.generation))
left join "user" u on u.id = case when h.created_by ~ '^(user|service-account):[0-9]{1,18}$' then split_part(h.created_by, ':', 2)::bigint end
order by h.uid, h.generation

-- name: hand_over
update resource r
set annotations = r.annotations || jsonb_strip_nulls(jsonb_build_object('grafana.app/managedBy', 'repo', 'grafana.app/managerId', $3::text,
        'grafana.app/sourcePath', handed.path, 'grafana.app/sourceChecksum', nullif(handed.checksum, ''))),
    managed_fields = '[]'
from unnest($4::uuid[], $5::bigint[], $6::text[], $7::text[]) as handed (uid, generation, path, checksum)
where r.uid = handed.uid and r.generation = handed.generation and r.manager_kind is null and r.deletion_timestamp is null
  and r.finalizers = '{}' and r.owner_references = '[]'
  and exists (select from resource where uid = $1 and generation = $2 and deletion_timestamp is null)
returning r.uid

-- name: overtake
insert into repository_commit (uid, ref, generation, edition, entries)
select uid, null, generation, 1, 0 from resource where uid = $1
on conflict (uid) do update set edition = repository_commit.edition + 1

-- name: author
select coalesce(nullif(name, ''), login) as name, email from "user" where id = $1
