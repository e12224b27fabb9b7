-- name: lock
-- Locks the data sources of an organization against other writers until the transaction ends. Taken after the locks of quotas.
select pg_advisory_xact_lock(4, hashtext($1::bigint::text))

-- name: list_all
-- All data sources of an organization by name, with the names of their secrets.
select d.id, d.org_id, d.uid, d.name, d.type, d.access, d.url, d."user", d.database, d.basic_auth, d.basic_auth_user, d.with_credentials,
       d.is_default, d.json_data, d.version,
       array(select s.name from data_source_secret s where s.data_source_id = d.id order by s.name) as secret_names
from data_source d
where d.org_id = $1
order by lower(d.name), d.name

-- name: get
-- A data source by id ($2), uid ($3) or name ($4); the other two are null.
select d.id, d.org_id, d.uid, d.name, d.type, d.access, d.url, d."user", d.database, d.basic_auth, d.basic_auth_user, d.with_credentials,
       d.is_default, d.json_data, d.version,
       array(select s.name from data_source_secret s where s.data_source_id = d.id order by s.name) as secret_names
from data_source d
where d.org_id = $1 and (d.id = $2 or d.uid = $3 or d.name = $4)

-- name: find
-- A data source with its sealed secrets.
select d.id, d.org_id, d.uid, d.name, d.type, d.url, d."user", d.database, d.basic_auth, d.basic_auth_user, d.json_data, d.version,
       s.names, s.sealed
from data_source d
cross join lateral (
    select coalesce(array_agg(name order by name), '{}') as names, coalesce(array_agg(sealed order by name), '{}') as sealed
    from data_source_secret where data_source_id = d.id
) s
where d.org_id = $1 and d.uid = $2

-- name: clear_default
-- Clears the default of all data sources of the organization except $2.
update data_source set is_default = false, version = version + 1, updated = now() where org_id = $1 and is_default and id is distinct from $2

-- name: insert
-- An empty uid is replaced by a generated one.
insert into data_source (
    org_id, uid, name, type, access, url, "user", database, basic_auth, basic_auth_user, with_credentials, is_default, json_data, created_by
) values (
    $1, coalesce(nullif($2, ''), substr(replace(gen_random_uuid()::text, '-', ''), 1, 14)), $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
    $13, $14
)
returning id, uid

-- name: update
update data_source
set uid = $3, name = $4, type = $5, access = $6, url = $7, "user" = $8, database = $9, basic_auth = $10, basic_auth_user = $11,
    with_credentials = $12, is_default = $13, json_data = $14, version = version + 1, updated = now()
where org_id = $1 and id = $2

-- name: delete
-- Returns the deleted data source.
delete from data_source where org_id = $1 and id = $2 returning uid, name, type

-- name: put_secrets
insert into data_source_secret (data_source_id, name, sealed)
select $1, s.name, s.sealed from unnest($2::text[], $3::bytea[]) s (name, sealed)
on conflict (data_source_id, name) do update set sealed = excluded.sealed

-- name: remove_secrets
delete from data_source_secret where data_source_id = $1 and name = any($2::text[])

-- name: list_secrets
select name, sealed from data_source_secret where data_source_id = $1 order by name

-- name: count_foreign
-- Counts secrets that were sealed under another key than the accepted ones, whose headers of 5 bytes are $1.
select count(*) from data_source_secret where substr(sealed, 1, 5) <> all($1::bytea[])
