-- name: insert
-- Writes nothing if the repository has been deleted in the meantime.
insert into picture (id, repository, media_type, body)
select $1, uid, $3, $4 from resource where uid = $2 for key share
returning id

-- name: trim
delete from picture
where repository = $1
  and id not in (select id from picture where repository = $1 order by created desc, id limit $2)

-- name: find
select media_type, body
from picture p join resource r on r.uid = p.repository
where p.id = $1 and r.api_group = $2 and r.resource = $3 and r.namespace = $4 and r.name = $5

-- name: expire
delete from picture
where id in (select id from picture where created < now() - $1::interval limit $2)
returning id
