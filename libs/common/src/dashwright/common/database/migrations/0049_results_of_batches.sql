-- Results of batches, which are moved to object storage. See the decision record docs/decisions/0014-batches.md.

alter table batch
    -- Number of retries that changed items. A segment that was written during a retry is out of date.
    add column retries integer not null default 0,
    -- Objects may be in storage; they are deleted before the row.
    add column has_objects boolean not null default false,
    -- The results of all items are in storage, and deleted here.
    add column is_stored boolean not null default false;
create index batch_unstored on batch (created_at) where not is_stored and not is_deleted;
create index batch_deleted_objects on batch (uid) where is_deleted and has_objects;

-- The item was retried after its segment was stored, so its line in the stored object is out of date.
alter table batch_item add column is_retried boolean not null default false;

-- Consecutive items whose results are, or are about to be, one object in storage.
create table batch_segment (
    batch uuid not null,
    -- Index of the first item, divided by the number of items in a segment.
    number integer not null,
    -- Path of the object below the URL of the storage, and its size in bytes. Null before the segment is stored.
    object text,
    size bigint,
    -- The object has the results of all items: none was retried since.
    is_complete boolean not null default false,
    -- The evaluations whose results are in the object are deleted.
    is_trimmed boolean not null default false,
    -- The worker that writes the object, until this time.
    claim uuid,
    claimed_until timestamptz,
    primary key (batch, number)
);
