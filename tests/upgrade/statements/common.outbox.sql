-- name: published
delete from outbox where id = any($1::bigint[])

-- name: overdue
select id, exchange, routing_key, body, headers from outbox
where created_at < now() - $1::interval
order by id
for update skip locked
limit $2

-- name: depth
select count(*) from outbox
