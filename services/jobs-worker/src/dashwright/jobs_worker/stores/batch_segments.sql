-- fragment: is_in_segment
-- Condition: the item is one of a segment.
i.batch = :batch and i.index >= :number::integer * :segment_items::integer
    and i.index < (:number::integer + 1) * :segment_items::integer

-- name: list_unstored
-- The batches that may have segments to store.
select uid from batch b
where not is_stored and not is_deleted and (finished_at is not null or success + error + cancelled >= :segment_items * (
    1 + (select count(*) from batch_segment s where s.batch = b.uid and s.is_complete)
))
order by created_at
limit :limit

-- name: claim
-- Claims the first segment of which all items ended, and no live worker stores it.
with next as (
    select n.number
    from batch b, generate_series(0, (b.total - 1) / :segment_items) n (number)
    left join batch_segment s on s.batch = :batch and s.number = n.number
    where b.uid = :batch and not b.is_deleted and not coalesce(s.is_complete, false) and coalesce(s.claimed_until < now(), true)
      and (b.finished_at is not null or (n.number + 1) * :segment_items <= b.total)
      and not exists (
          select from batch_item i
          where i.batch = :batch and i.index >= n.number * :segment_items and i.index < (n.number + 1) * :segment_items
            and i.state in ('pending', 'dispatched')
      )
    order by n.number
    limit 1
), marked as (
    update batch set has_objects = true where uid = :batch and not has_objects and exists (select from next)
)
insert into batch_segment (batch, number, claim, claimed_until)
select :batch, number, :claim, now() + :lease::interval from next
on conflict (batch, number) do update set claim = excluded.claim, claimed_until = excluded.claimed_until
    where coalesce(batch_segment.claimed_until < now(), true)
returning number, object, (select retries from batch where uid = :batch) as retries

-- name: renew
update batch_segment set claimed_until = now() + $4::interval where batch = $1 and number = $2 and claim = $3 returning number

-- name: release
update batch_segment set claim = null, claimed_until = null where batch = $1 and number = $2 and claim = $3

-- name: complete
-- Records the object, unless items were retried since the claim or the batch is deleted.
with current as (
    select uid from batch where uid = :batch and retries = :retries and not is_deleted
), stored as (
    update batch_segment s set object = :object, size = :size, is_complete = true, is_trimmed = false, claim = null, claimed_until = null
    from current where s.batch = :batch and s.number = :number and s.claim = :claim
    returning s.number
), refreshed as (
    update batch_item i set is_retried = false from stored where {is_in_segment} and i.is_retried
)
select number from stored

-- name: list_untrimmed
select number from batch_segment where batch = $1 and is_complete and not is_trimmed order by number

-- name: list_trimmable
-- Evaluations whose results are in the object of a segment.
select i.job from batch_item i join job j on j.uid = i.job
where {is_in_segment} and i.kind = 'Evaluation' and i.state in ('success', 'error', 'cancelled') and not i.is_retried
  and j.state in ('success', 'error')
limit :limit

-- name: record_trimmed
update batch_segment set is_trimmed = true where batch = $1 and number = $2 and is_complete

-- name: record_stored
-- Records that all results of a finished batch are stored.
update batch b set is_stored = true
where uid = :batch and finished_at is not null
  and (total + :segment_items - 1) / :segment_items = (
      select count(*) from batch_segment s where s.batch = b.uid and s.is_complete and s.is_trimmed
  )

-- name: list_deleted
-- Deleted batches without items, whose objects are left.
select uid from batch b
where is_deleted and has_objects and not exists (select from batch_item i where i.batch = b.uid)
  and not exists (select from batch_segment s where s.batch = b.uid and s.claimed_until > now())
limit $1

-- name: delete_segments
delete from batch_segment where batch = $1

-- name: delete_batch
delete from batch where uid = $1 and is_deleted
