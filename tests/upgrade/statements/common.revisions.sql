-- name: note
with repository as (select uid from resource where uid = $1 for key share),
known as (select position from repository_revision where uid = $1 and ref = $2),
turned as (
    update repository_revision r set withdrawn = r.position > known.position
    from known
    where r.uid = $1 and r.position >= known.position and r.withdrawn <> (r.position > known.position)
)
insert into repository_revision (uid, ref, at, job)
select uid, $2, $3, $4 from repository where not exists (select from known)

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
