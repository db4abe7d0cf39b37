-- name: take
SELECT limits.take($1, $2, $3, $4)

-- name: wait
SELECT limits.wait($1, $2, $3)

-- name: guess
SELECT limits.guess($1, $2, $3)

-- name: forgive
SELECT limits.forgive($1)

-- name: sweep
SELECT limits.sweep()

-- name: open_session
SELECT limits.open_session($1, $2, $3, $4, $5, $6)

-- name: give_session_up
SELECT limits.give_session_up($1)

-- name: day_spent
SELECT tokens, money, key_tokens, key_money, key_sessions FROM limits.day_spent($1)
