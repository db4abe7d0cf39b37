-- name: lacking
-- What the login lacks for all our roles, and whether it may help itself. With PostgreSQL 16 and later who makes roles
-- grants only those that it has made, or that were granted to it with the right to.
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
