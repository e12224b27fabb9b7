-- Notifications that batches have ended, and the marks of items whose result was sent to its reply address.

-- One row for each end of a batch and each receiver. It is written in the transaction that finishes the batch.
create table batch_notification (
    -- Id of the event, which is the same for all receivers and attempts.
    id uuid not null,
    receiver text not null check (receiver in ('queue', 'webhook')),
    batch uuid not null,
    namespace text not null,
    -- Name of the batch, to which the secret is bound.
    name text not null,
    -- Name of the queue, or URL of the webhook.
    target text not null,
    -- What slow deliveries are limited by: the host of the webhook, or the queue.
    host text not null,
    -- Secret of the signatures, sealed, in base64.
    secret text,
    -- The CloudEvent, as JSON.
    event text not null,
    -- When the batch ended.
    created_at timestamptz not null default now(),
    attempts integer not null default 0,
    -- Null after the last attempt. During an attempt, when another process makes the next one if this one does not end.
    next_attempt_at timestamptz default now(),
    delivered_at timestamptz,
    -- Why the last attempt failed.
    error text,
    primary key (id, receiver)
);
create index batch_notification_due on batch_notification (next_attempt_at) where next_attempt_at is not null;
create index batch_notification_batch on batch_notification (batch, created_at);

-- The message with the result of an item was sent since the item ended.
alter table batch_item add column is_replied boolean not null default false;
create index batch_item_unreplied on batch_item (batch, index)
    where reply_to is not null and not is_replied and state in ('success', 'error', 'cancelled');
