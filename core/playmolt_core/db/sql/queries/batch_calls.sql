-- name: put
WITH short AS MATERIALIZED (
  SELECT account, calls, tokens, money FROM limits.reserve($8, $9, $10, $11, $12, $13)
), put AS (
  INSERT INTO lease.batch_call (key, stream, asker, alias, body, tokens, money, accounts)
  SELECT $1::bytea, $2, $3, $4, $5, $6::bigint, $7::numeric, $8 WHERE NOT EXISTS (SELECT FROM short)
  ON CONFLICT DO NOTHING
)
SELECT account, calls, tokens, money FROM short

-- name: found
SELECT answered, answer, batch, tokens, money, accounts FROM lease.batch_call WHERE key = $1

-- name: waiting
SELECT key, asker, alias, body, name, extract(epoch FROM clock_timestamp() - at)::double precision
FROM lease.batch_call WHERE stream = $1 AND batch IS NULL AND NOT answered ORDER BY at, key

-- name: named
UPDATE lease.batch_call SET name = $3 WHERE stream = $1 AND key = ANY ($2)

-- name: submitted
UPDATE lease.batch_call SET batch = $3 WHERE stream = $1 AND name = $2 AND NOT answered

-- name: answered
UPDATE lease.batch_call AS c SET answered = true, answer = t.answer
FROM lease.batch_call AS b
LEFT JOIN unnest($3::bytea[], $4::text[]) AS t (key, answer) USING (key)
WHERE c.key = b.key AND b.stream = $1 AND b.batch = $2 AND NOT b.answered

-- name: refused
UPDATE lease.batch_call SET answered = true WHERE stream = $1 AND name = $2

-- name: settled
WITH cleared AS (
  UPDATE lease.batch_call SET tokens = 0, money = 0, accounts = '{}' WHERE key = $5
)
SELECT limits.settle($1, $2, $3, $4)

-- name: closed
WITH gone AS (
  DELETE FROM lease.batch_call WHERE stream = $1 AND (batch = $2 OR $2::text IS NULL AND batch IS NULL AND name IS NULL)
  RETURNING key, accounts, tokens, money
), change AS (
  SELECT a.account, count(u.key) - count(*) AS calls,
    sum(CASE WHEN u.key IS NULL THEN -g.tokens ELSE coalesce(u.tokens - g.tokens, 0) END)::bigint AS tokens,
    sum(CASE WHEN u.key IS NULL THEN -g.money ELSE coalesce(u.money - g.money, 0) END) AS money
  FROM gone AS g CROSS JOIN unnest(g.accounts) AS a (account)
  LEFT JOIN unnest($3::bytea[], $4::bigint[], $5::numeric[]) AS u (key, tokens, money) ON u.key = g.key
  GROUP BY a.account
)
SELECT limits.settle(array_agg(account), array_agg(calls), array_agg(tokens), array_agg(money)) FROM change
