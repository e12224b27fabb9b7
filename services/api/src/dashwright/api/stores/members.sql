-- fragment: matches
-- Holds for a member p of an organization whose login, e-mail or name contains a string, in any letter case. m is the membership.
m.org_id = :org_id
  and (:containing = '' or position(lower(:containing) in lower(p.login)) > 0 or position(lower(:containing) in lower(p.email)) > 0
       or position(lower(:containing) in lower(p.name)) > 0)
  and (:ids::bigint[] is null or p.id = any(:ids))

-- name: page
-- A page of matching members of an organization.
select m.org_id, m.role, p.id, p.uid, p.login, p.email, p.name, p.is_disabled, p.created, p.last_seen_at
from org_user m join person p on p.id = m.user_id
where {matches}
order by lower(p.email), lower(p.login)
limit :limit offset :offset

-- name: count
-- The number of matching members on all pages.
select count(*) from org_user m join person p on p.id = m.user_id where {matches}

-- name: organizations
-- The organizations of a user or service account.
select o.id, o.name, m.role
from org_user m join org o on o.id = m.org_id
where m.user_id = $1
order by o.name, o.id

-- name: lock_admins
-- Held while a role of Admin or server admin is removed, from before the count of admins to the commit, so that two removals cannot
-- remove the last two admins. Take it after the locks (1, 1) and (1, 2).
select pg_advisory_xact_lock(3, hashtext('admins'))

-- name: role
-- The role of a person in an organization; no row for a non-member.
select m.role from org_user m join person p on p.id = m.user_id where m.org_id = $1 and m.user_id = $2

-- name: admins
-- The persons who are Admin of an organization.
select m.user_id from org_user m join person p on p.id = m.user_id where m.org_id = $1 and m.role = 'Admin'

-- name: only_admin_of
-- The first organization whose only Admin is this person.
select o.name
from org_user m join org o on o.id = m.org_id
where m.user_id = $1 and m.role = 'Admin'
  and not exists (
      select from org_user other join person p on p.id = other.user_id
      where other.org_id = m.org_id and other.role = 'Admin' and other.user_id <> $1
  )
order by o.name
limit 1

-- name: insert
insert into org_user (org_id, user_id, role) values ($1, $2, $3)

-- name: set_role
update org_user set role = $3, updated = now() where org_id = $1 and user_id = $2

-- name: delete
delete from org_user where org_id = $1 and user_id = $2
