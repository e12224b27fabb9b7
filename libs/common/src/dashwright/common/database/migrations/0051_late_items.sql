-- Messages with items may overtake the one that closes their batch.

-- The batch was closed through the queue: it accepts items from the queue until it has ended.
alter table batch add column accepts_late boolean not null default false;
