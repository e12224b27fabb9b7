-- Messages that could not be handled, moved here from the queue of dead letters.
create table dead_letter (
    uid uuid primary key default gen_random_uuid(),
    namespace text not null,
    name text not null,
    -- The namespace of the message is unknown, so that only server administrators may see it, in the namespace default.
    server_only boolean not null,
    -- SHA-256 of the delivery: a message that is delivered again is stored once.
    delivery_hash bytea not null unique,
    -- SHA-256 of routing key, message id and body; null without a message id.
    message_hash bytea,
    routing_key text not null,
    exchange text not null,
    queue text not null,
    reason text not null,
    headers text not null,
    removed_headers text[] not null,
    message_id text,
    correlation_id text,
    content_type text not null,
    body bytea not null,
    -- Size of the complete body, of which ``body`` may be the beginning.
    body_bytes bigint not null,
    -- Why the letter cannot be replayed; empty if it can.
    obstacle text not null,
    received_at timestamptz not null,
    -- Null while the letter is dead.
    replayed_at timestamptz,
    resource_version bigint not null default nextval('resource_version'),
    unique (namespace, name)
);

-- The same message may die twice if a process ends between the two steps of moving it. After a replay it may die again.
create unique index dead_letter_message on dead_letter (message_hash) where replayed_at is null;
create index dead_letter_age on dead_letter (received_at);
