-- name: published
delete from outbox where id = any($1::bigint[])

-- name: overdue
-- Wake-ups that whoever recorded them should have published by now. Rows that another relay holds are passed over.
select id, exchange, routing_key, body, headers from outbox
where created_at < now() - $1::interval
order by id
for update skip locked
limit $2

-- name: depth
select count(*) from outbox
