-- name: missing
-- The roles, and the login, that are not there yet.
SELECT format('CREATE ROLE %I NOLOGIN', r.name) FROM unnest($1::text[]) AS r (name)
WHERE NOT EXISTS (SELECT FROM pg_roles AS p WHERE p.rolname = r.name)

-- name: settle
SELECT format(
  'ALTER ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD %L', $1::text, $2::text
)

-- name: narrow
SELECT format('REVOKE %I FROM %I', r.rolname, u.rolname)
FROM pg_auth_members AS m JOIN pg_roles AS r ON r.oid = m.roleid JOIN pg_roles AS u ON u.oid = m.member
WHERE u.rolname = $1::text AND r.rolname <> ALL ($2::text[])

-- name: grant
SELECT format('GRANT %I TO %I', r.name, $1::text) FROM unnest($2::text[]) AS r (name)
