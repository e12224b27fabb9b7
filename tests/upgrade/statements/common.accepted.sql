-- name: find
select body_hash, jobs from submission where namespace = $1 and submitter = $2 and message_id = $3

-- name: record
insert into submission (namespace, submitter, message_id, body_hash, jobs) values ($1, $2, $3, $4, $5)
on conflict do nothing
returning message_id

-- name: forget
delete from submission where created_at < now() - $1::interval

-- name: forget_namespace
delete from submission where namespace = $1
