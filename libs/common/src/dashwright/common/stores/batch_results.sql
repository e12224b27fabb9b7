-- name: list_page
-- The items of an existing batch from :first to :end, each with the place of its result; a single row without an item for an empty batch.
-- octet_length reads no stored body.
select i.index, i.id, i.kind, case when i.state = 'dispatched' then coalesce(j.state, 'pending') else i.state end as state,
    s.object, s.size, case when s.object is null then i.status end as status, case when s.object is null then i.job end as job,
    octet_length(p.body) as body_size
from batch b
left join batch_item i on i.batch = b.uid and i.index >= :first and i.index < :end {conditions}
left join batch_segment s on s.batch = i.batch and s.number = i.index / :segment_items and s.object is not null and not i.is_retried
left join job j on j.uid = i.job and i.state = 'dispatched'
left join evaluation_piece p
    on p.uid = i.job and p.format = 'json' and p.piece = 0 and i.kind = 'Evaluation' and i.state in ('success', 'error') and s.object is null
where b.uid = :batch and not b.is_deleted
order by i.index

-- condition: in_item_states
i.state = any(:states::text[])

-- condition: dispatched_in
i.state = 'dispatched'
    and coalesce((select job.state from job where job.uid = i.job), 'pending') = :job_state

-- condition: pending
i.state = 'pending' or i.state = 'dispatched' and coalesce((select job.state from job where job.uid = i.job), 'pending') = 'pending'

-- name: read_bodies
select uid, body from evaluation_piece where uid = any($1::uuid[]) and format = 'json' and piece = 0
