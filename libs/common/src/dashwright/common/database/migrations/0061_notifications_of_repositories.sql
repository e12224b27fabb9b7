-- oldest program: 0061
-- Notifications about repositories, in the table of those of batches.

alter table batch_notification rename to notification;
-- The uid of the batch or repository.
alter table notification rename column batch to subject;
alter table notification add column subject_kind text not null default 'batch' check (subject_kind in ('batch', 'repository'));
-- The target is the name of a queue, the URL of the webhook of a batch, the name of a receiver in the spec of a repository, or a routing
-- key of the exchange. The spec has the URL and secret of a receiver of a repository.
alter table notification drop constraint batch_notification_receiver_check;
alter table notification add constraint notification_receiver_check check (receiver in ('queue', 'webhook', 'exchange'));
alter table notification drop constraint batch_notification_pkey;
alter table notification add constraint notification_pkey primary key (id, receiver, target);
-- When the last attempt ended.
alter table notification add column attempted_at timestamptz;
-- The outcome of the last attempt is not in the status of the repository yet.
alter table notification add column is_unreported boolean not null default false;

alter index batch_notification_due rename to notification_due;
alter index batch_notification_batch rename to notification_subject;
create index notification_waiting on notification (namespace, created_at) where next_attempt_at is not null;
create index notification_unreported on notification (namespace, attempted_at) where is_unreported;

-- A corrected receiver gets the events that wait immediately.
create function attempt_notifications() returns trigger language plpgsql as $$
begin
    update notification set next_attempt_at = now(), attempts = 0 where subject = new.uid and next_attempt_at is not null;
    return null;
end
$$;
create trigger resource_notifications after update of generation on resource for each row
when (
    new.generation <> old.generation and new.api_group = 'provisioning.grafana.app' and new.resource = 'repositories'
) execute function attempt_notifications();
