-- name: find
select body_hash, jobs from submission where namespace = $1 and submitter = $2 and message_id = $3

-- name: record
insert into submission (namespace, submitter, message_id, body_hash, jobs) values ($1, $2, $3, $4, $5)
on conflict do nothing
returning message_id

-- name: record_all
insert into submission (namespace, submitter, message_id, body_hash, jobs)
select namespace, submitter, message_id, body_hash, array[job]
from unnest(:namespaces::text[], :submitters::text[], :message_ids::text[], :body_hashes::bytea[], :jobs::uuid[])
    m (namespace, submitter, message_id, body_hash, job)
on conflict do nothing
returning message_id

-- name: delete_old
delete from submission
where ctid = any(array(select ctid from submission where created_at < now() - $1::interval limit $2))
returning message_id

-- name: delete_namespace
delete from submission where namespace = $1
