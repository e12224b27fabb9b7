-- name: open
-- Begins the outcome of an evaluation.
insert into evaluation (uid, status, expires_at) values ($1, $2, now() + $3::interval)

-- name: forget
-- An attempt before may have left some of it.
delete from evaluation where uid = $1

-- name: add_piece
insert into evaluation_piece (uid, format, piece, body) values ($1, $2, $3, $4)

-- name: find
select status from evaluation where uid = $1 and expires_at > now()

-- name: piece
select body from evaluation_piece where uid = $1 and format = $2 and piece = $3

-- name: expire
delete from evaluation where expires_at <= now() returning uid
