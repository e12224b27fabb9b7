-- fragment: matches
-- Holds for a team t of an organization that matches a search, in any letter case. A filter that is null or empty is not applied.
t.org_id = :org_id
  and (:containing = '' or position(lower(:containing) in lower(t.name)) > 0)
  and (:name = '' or t.name = :name)
  and (:ids::bigint[] is null or t.id = any(:ids))

-- name: page
-- A page of matching teams, with the permission of a user in each.
select t.id, t.uid, t.org_id, t.name, t.email,
       (select count(*) from team_member m where m.team_id = t.id) as members,
       coalesce((select m.permission from team_member m where m.team_id = t.id and m.user_id = :user_id), 0) as permission
from team t
where {matches}
order by lower(t.name), t.name
limit :limit offset :offset

-- name: count
-- The number of matching teams on all pages.
select count(*) from team t where {matches}

-- name: of_member
-- The teams of a user ($2) in an organization, limited to the ids $3; null: all.
select t.id, t.uid, t.org_id, t.name, t.email,
       (select count(*) from team_member m where m.team_id = t.id) as members,
       membership.permission
from team t join team_member membership on membership.team_id = t.id and membership.user_id = $2
where t.org_id = $1 and ($3::bigint[] is null or t.id = any($3))
order by lower(t.name), t.name

-- name: person_exists
select exists (select from person where id = $1)

-- name: find
-- A team by id ($2) or uid ($3); the team with the id takes precedence. $4 is the user whose permission is returned.
select t.id, t.uid, t.org_id, t.name, t.email,
       (select count(*) from team_member m where m.team_id = t.id) as members,
       coalesce((select m.permission from team_member m where m.team_id = t.id and m.user_id = $4), 0) as permission
from team t
where t.org_id = $1 and (t.id = $2 or t.uid = $3)
order by t.id = $2 desc nulls last
limit 1

-- name: lock
-- Keeps a team from being deleted until the transaction ends; no row if it does not exist.
select id from team where org_id = $1 and id = $2 for key share

-- name: insert
insert into team (org_id, name, email) values ($1, $2, $3) returning id, uid

-- name: change
-- Null keeps a column.
update team set name = coalesce($3, name), email = coalesce($4, email), updated = now() where org_id = $1 and id = $2 returning id

-- name: delete
delete from team where org_id = $1 and id = $2 returning name

-- name: members
-- The members of a team, by login.
select m.org_id, m.team_id, t.uid as team_uid, p.id as user_id, p.uid as user_uid, p.email, p.name, p.login, m.permission
from team_member m join team t on t.id = m.team_id join person p on p.id = m.user_id
where m.team_id = $1
order by lower(p.login)

-- name: insert_member
-- Only inserts a person who is a member of the team's organization, and locks that membership until the transaction ends.
with membership as (
    select m.org_id, m.user_id from org_user m
    where m.org_id = $1 and m.user_id = $3 and exists (select from person p where p.id = m.user_id)
    for key share
)
insert into team_member (org_id, team_id, user_id, permission)
select membership.org_id, $2, membership.user_id, $4 from membership returning id

-- name: set_permission
update team_member set permission = $3 where team_id = $1 and user_id = $2 returning id

-- name: delete_member
delete from team_member where team_id = $1 and user_id = $2 returning id
