-- name: configure_transaction
-- Settings of the transaction: it may take long, and dashwright.bulk makes it send one notification for all changes of rights.
select set_config('statement_timeout', '0', true), set_config('lock_timeout', '60s', true),
       set_config('idle_in_transaction_session_timeout', '0', true), set_config('dashwright.bulk', 'on', true)

-- name: is_fresh
-- Whether the database contains only what a first start creates.
select not exists (select from "user" where id <> 1) and not exists (select from org where id <> 1)
   and not exists (select from resource) and not exists (select from imported)

-- name: delete_first_user
delete from "user" where id = 1

-- name: delete_first_org
delete from org where id = 1

-- name: earlier_imports
select key, digest, state from imported where origin = $1

-- name: record_import
insert into imported (origin, key, digest, state) values ($1, $2, $3, $4)
on conflict (origin, key) do update set digest = excluded.digest, state = excluded.state

-- name: record_imports
insert into imported (origin, key, digest, state)
select $1, key, digest, state from unnest($2::text[], $3::bytea[], $4::text[]) as imports(key, digest, state)
on conflict (origin, key) do update set digest = excluded.digest, state = excluded.state

-- name: create_facts_table
-- Values of the staged objects that only an import sets, such as times and authors.
create temporary table facts (
    api_group text, resource text, name text, uid uuid, number bigint, generation bigint, created_at timestamptz, created_by text,
    updated_at timestamptz, updated_by text, message text, parent bigint, restored bigint
) on commit drop

-- name: truncate_staging
truncate staged, facts

-- name: existing_objects
select resource, name, uid, generation from resource where namespace = $1 and resource = any($2::text[]) and name = any($3::text[])

-- name: write_objects
-- Inserts the staged objects, or updates objects of an earlier import to a newer generation.
with written as (
    insert into resource (uid, api_group, resource, namespace, name, resource_version, generation, stored_version, title, layout, tags, subtype,
                          refs, labels, annotations, finalizers, created_at, created_by, updated_at, updated_by, content_hash, number, metadata, message)
    select f.uid, s.api_group, s.resource, $1, s.name, 0, f.generation, s.stored_version, s.title, s.layout, s.tags, s.subtype, s.refs,
           s.labels::jsonb, s.annotations::jsonb, s.finalizers, f.created_at, f.created_by, f.updated_at, f.updated_by, s.content_hash,
           f.number, '', f.message
    from staged s join facts f using (api_group, resource, name)
    order by s.position
    on conflict (namespace, api_group, resource, name) do update set
        generation = excluded.generation, stored_version = excluded.stored_version, title = excluded.title, layout = excluded.layout,
        tags = excluded.tags, subtype = excluded.subtype, refs = excluded.refs, annotations = excluded.annotations,
        updated_at = excluded.updated_at, updated_by = excluded.updated_by, content_hash = excluded.content_hash,
        message = excluded.message
    where resource.uid = excluded.uid
    returning *
)
insert into resource_history (uid, generation, resource_version, metadata, stored_version, layout, spec, created_at, created_by, message,
                              parent_version, restored_from)
select w.uid, w.generation, w.resource_version, w.metadata, w.stored_version, w.layout, s.spec, coalesce(w.updated_at, w.created_at),
       coalesce(w.updated_by, w.created_by), f.message, f.parent, f.restored
from written w join staged s using (api_group, resource, name) join facts f using (api_group, resource, name)
on conflict do nothing

-- name: write_versions
-- Generations before the current one. Their metadata is the object's current one, with the author and time of that generation.
insert into resource_history (uid, generation, resource_version, metadata, stored_version, layout, spec, created_at, created_by, message,
                              parent_version, restored_from)
select r.uid, v.generation, 0,
       jsonb_set(r.metadata::jsonb, '{annotations}', ((r.metadata::jsonb -> 'annotations') - 'grafana.app/message') || jsonb_build_object(
           'grafana.app/updatedBy', v.created_by,
           'grafana.app/updatedTimestamp', to_char(v.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')))::text,
       v.stored_version, v.layout, v.spec, v.created_at, v.created_by, v.message, v.parent, v.restored
from resource r
join unnest($1::uuid[], $2::bigint[], $3::text[], $4::boolean[], $5::text[], $6::timestamptz[], $7::text[], $8::text[], $9::bigint[],
            $10::bigint[]) as v(uid, generation, stored_version, layout, spec, created_at, created_by, message, parent, restored)
  on v.uid = r.uid and v.generation < r.generation
on conflict do nothing

-- name: write_list
-- Inserts a list of rules for an object that has none yet.
insert into access_list (uid, namespace, resource, name)
select uid, namespace, resource, name from resource where namespace = $1 and resource = $2 and name = $3
on conflict do nothing
returning uid

-- name: write_rule
-- Inserts nothing if the user or team does not exist here.
insert into access_rule (uid, user_id, team_id, role, permission)
select $1, $2, $3, $4, $5
where ($2::bigint is null or exists (select from "user" where id = $2)) and ($3::bigint is null or exists (select from team where id = $3))
on conflict do nothing

-- name: advance_sequences
-- Moves the sequences past the imported ids.
select setval(pg_get_serial_sequence('"user"', 'id'), greatest((select max(id) from "user"), 1)),
       setval(pg_get_serial_sequence('org', 'id'), greatest((select max(id) from org), 1)),
       setval(pg_get_serial_sequence('api_key', 'id'), greatest((select max(id) from api_key), 1)),
       setval(pg_get_serial_sequence('team', 'id'), greatest((select max(id) from team), 1)),
       setval(pg_get_serial_sequence('data_source', 'id'), greatest((select max(id) from data_source), 1))
