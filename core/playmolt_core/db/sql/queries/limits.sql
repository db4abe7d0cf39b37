-- name: take
SELECT limits.take($1, $2, $3, $4)

-- name: sweep
SELECT limits.sweep()

-- name: open_session
SELECT limits.open_session($1, $2, $3, $4, $5)

-- name: give_session_up
SELECT limits.give_session_up($1)
