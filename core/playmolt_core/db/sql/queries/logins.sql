-- name: missing
-- Statements that create the missing ones of these roles and of the login.
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

-- name: lacking
-- The roles that the login lacks, and whether it may create or grant each itself. Since PostgreSQL 16, a login with
-- CREATEROLE may grant only roles that it created or that were granted to it WITH ADMIN OPTION.
SELECT r.name, p.oid IS NULL AS missing, (
    u.rolcreaterole AND (
      p.oid IS NULL OR current_setting('server_version_num')::integer < 160000
      OR pg_has_role(u.oid, p.oid, 'MEMBER WITH ADMIN OPTION')
    )
  ) AS own_doing
FROM unnest($1::text[]) AS r (name)
JOIN pg_roles AS u ON u.rolname = current_user
LEFT JOIN pg_roles AS p ON p.rolname = r.name
WHERE p.oid IS NULL OR NOT pg_has_role(u.oid, p.oid, 'USAGE')
ORDER BY r.name

-- name: make
SELECT format('CREATE ROLE %I NOLOGIN', $1::text)

-- name: join
SELECT format('GRANT %I TO %I', $1::text, current_user)

-- name: may_create
SELECT has_database_privilege(current_database(), 'CREATE')

-- name: let_create
SELECT format('GRANT CREATE ON DATABASE %I TO %I', current_database(), current_user)
