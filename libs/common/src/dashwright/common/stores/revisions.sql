-- name: record
-- A revision that was stored before becomes the current one again, and later ones are withdrawn. Writes nothing if the repository
-- has been deleted in the meantime.
with repository as (select uid from resource where uid = $1 for key share),
existing as (select position from repository_revision where uid = $1 and ref = $2),
marked as (
    update repository_revision r set withdrawn = r.position > existing.position
    from existing
    where r.uid = $1 and r.position >= existing.position and r.withdrawn <> (r.position > existing.position)
)
insert into repository_revision (uid, ref, at, job)
select uid, $2, $3, $4 from repository where not exists (select from existing)

-- name: trim
delete from repository_revision
where uid = $1
  and position <= (select position from repository_revision where uid = $1 order by position desc offset $2 limit 1)

-- name: list_all
select r.ref, r.at, r.job, r.withdrawn, c.ref is not null as current
from repository_revision r left join repository_commit c using (uid, ref)
where r.uid = $1
order by r.position desc

-- name: hold_at
insert into repository_hold (uid, head, generation)
select uid, $2, $3 from resource where uid = $1 for key share
on conflict (uid) do update set head = excluded.head, generation = excluded.generation

-- name: release
delete from repository_hold where uid = $1

-- name: held_head
select head from repository_hold where uid = $1 and generation = $2
