-- fragment: columns
uid, namespace, name, server_only, routing_key, exchange, queue, reason, headers, removed_headers, message_id, correlation_id,
content_type, octet_length(body) as stored_bytes, body_bytes, obstacle, received_at, replayed_at, resource_version

-- fragment: visible
(not server_only or :with_server_letters::boolean)

-- name: insert
-- Nothing if the delivery, or an equal message that is still dead, is stored already.
insert into dead_letter (
    name, namespace, server_only, delivery_hash, message_hash, routing_key, exchange, queue, reason, headers, removed_headers,
    message_id, correlation_id, content_type, body, body_bytes, obstacle, received_at
)
values (
    :name, :namespace, :server_only, :delivery_hash, :message_hash, :routing_key, :exchange, :queue, :reason, :headers,
    :removed_headers, :message_id, :correlation_id, :content_type, :body, :body_bytes, :obstacle, :received_at
)
on conflict do nothing
returning uid

-- name: page
select {columns} from dead_letter
where namespace = :namespace and name > :after and {visible}
order by name
limit :limit

-- name: bodies
select uid, body from dead_letter where uid = any($1::uuid[])

-- name: find
select {columns} from dead_letter where namespace = :namespace and name = :name and {visible}

-- name: lock
-- Waits for a replay in progress, and returns the state after it.
select {columns} from dead_letter where namespace = :namespace and name = :name and {visible} for update

-- name: lock_dead
-- Letters that another request replays at this moment are left out.
select {columns} from dead_letter
where namespace = :namespace and name = any(:names::text[]) and {visible} and replayed_at is null
order by name
for update skip locked

-- name: mark_replayed
update dead_letter set replayed_at = :replayed_at, resource_version = nextval('resource_version')
where uid = any(:uids::uuid[])

-- name: mark_dead
update dead_letter set replayed_at = null, resource_version = nextval('resource_version') where uid = any($1::uuid[])

-- name: delete
delete from dead_letter where namespace = $1 and name = any($2::text[]) returning name

-- name: delete_namespace
delete from dead_letter where namespace = $1

-- name: delete_old
delete from dead_letter where uid in (select uid from dead_letter where received_at < $1 limit $2)

-- name: delete_surplus
-- Of each organization, the letters after the first $1, which are the dead ones from the newest to the oldest, and then the replayed ones.
-- Letters are ranked only where there are too many: to count them, an index suffices.
delete from dead_letter
where uid in (
    select uid
    from (
        select uid, row_number() over (
            partition by namespace, server_only order by replayed_at is not null, received_at desc, name desc
        ) as position
        from dead_letter
        where namespace in (select namespace from dead_letter group by namespace having count(*) > $1)
    ) as ranked
    where position > $1
    limit $2
)
