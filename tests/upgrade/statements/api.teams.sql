-- fragment: matches
t.org_id = :org_id
  and (:containing = '' or position(lower(:containing) in lower(t.name)) > 0)
  and (:name = '' or t.name = :name)
  and (:numbers::bigint[] is null or t.id = any(:numbers))

-- name: page
select t.id, t.uid, t.org_id, t.name, t.email,
       (select count(*) from team_member m where m.team_id = t.id) as members,
       coalesce((select m.permission from team_member m where m.team_id = t.id and m.user_id = :viewer), 0) as permission
from team t
where {matches}
order by lower(t.name), t.name
limit :limit offset :offset

-- name: count
select count(*) from team t where {matches}

-- name: of_member
select t.id, t.uid, t.org_id, t.name, t.email,
       (select count(*) from team_member m where m.team_id = t.id) as members,
       own.permission
from team t join team_member own on own.team_id = t.id and own.user_id = $2
where t.org_id = $1 and ($3::bigint[] is null or t.id = any($3))
order by lower(t.name), t.name

-- name: person_exists
select exists (select from person where id = $1)

-- name: find
select t.id, t.uid, t.org_id, t.name, t.email,
       (select count(*) from team_member m where m.team_id = t.id) as members,
       coalesce((select m.permission from team_member m where m.team_id = t.id and m.user_id = $4), 0) as permission
from team t
where t.org_id = $1 and (t.id = $2 or t.uid = $3)
order by t.id = $2 desc nulls last
limit 1

-- name: hold
select id from team where org_id = $1 and id = $2 for key share

-- name: insert
insert into team (org_id, name, email) values ($1, $2, $3) returning id, uid

-- name: change
update team set name = coalesce($3, name), email = coalesce($4, email), updated = now() where org_id = $1 and id = $2 returning id

-- name: delete
delete from team where org_id = $1 and id = $2 returning name

-- name: members
select m.org_id, m.team_id, t.uid as team_uid, p.id as user_id, p.uid as user_uid, p.email, p.name, p.login, m.permission
from team_member m join team t on t.id = m.team_id join person p on p.id = m.user_id
where m.team_id = $1
order by lower(p.login)

-- name: insert_member
with held as (
    select m.org_id, m.user_id from org_user m
    where m.org_id = $1 and m.user_id = $3 and exists (select from person p where p.id = m.user_id)
    for key share
)
insert into team_member (org_id, team_id, user_id, permission) select held.org_id, $2, held.user_id, $4 from held returning id

-- name: set_permission
update team_member set permission = $3 where team_id = $1 and user_id = $2 returning id

-- name: delete_member
delete from team_member where team_id = $1 and user_id = $2 returning id
