-- What a database's own schemas hold, one line a fact: two databases with the same lines have the same schema.
WITH own AS (
  SELECT oid, nspname, nspowner, nspacl FROM pg_namespace
  WHERE nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'migration', 'public')
), relation AS (
  SELECT c.* FROM pg_class AS c JOIN own ON own.oid = c.relnamespace
), granted (what, acl) AS (
  SELECT nspname::text, coalesce(nspacl, acldefault('n', nspowner)) FROM own
  UNION ALL
  SELECT oid::regclass::text, coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", relowner))
  FROM relation WHERE relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
  UNION ALL
  SELECT concat(a.attrelid::regclass, '.', a.attname), a.attacl
  FROM pg_attribute AS a JOIN relation AS r ON r.oid = a.attrelid WHERE a.attacl IS NOT NULL
  UNION ALL
  SELECT p.oid::regprocedure::text, coalesce(p.proacl, acldefault('f', p.proowner))
  FROM pg_proc AS p JOIN own ON own.oid = p.pronamespace
)
SELECT concat('schema ', nspname, ' of ', nspowner::regrole) AS fact FROM own
UNION ALL
SELECT concat_ws(
  ' ', 'relation', oid::regclass, relkind, relpersistence, reloptions, relrowsecurity, relforcerowsecurity, relreplident,
  'of', relowner::regrole
) FROM relation
UNION ALL
SELECT concat_ws(
  ' ', 'column', a.attrelid::regclass, row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum), a.attname,
  format_type(a.atttypid, a.atttypmod), c.collname, CASE WHEN a.attnotnull THEN 'not null' END, a.attidentity,
  a.attgenerated, a.attstorage, pg_get_expr(d.adbin, d.adrelid)
)
FROM pg_attribute AS a JOIN relation AS r ON r.oid = a.attrelid
LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
LEFT JOIN pg_collation AS c ON c.oid = a.attcollation
WHERE a.attnum > 0 AND NOT a.attisdropped AND r.relkind NOT IN ('i', 'I')
UNION ALL
SELECT concat_ws(' ', 'constraint', conrelid::regclass, contypid::regtype, conname, pg_get_constraintdef(k.oid), convalidated)
FROM pg_constraint AS k JOIN own ON own.oid = k.connamespace
UNION ALL
SELECT concat_ws(' ', 'index', pg_get_indexdef(i.indexrelid), i.indisvalid, i.indisclustered)
FROM pg_index AS i JOIN relation AS r ON r.oid = i.indexrelid
UNION ALL
SELECT concat_ws(' ', 'trigger', pg_get_triggerdef(t.oid), t.tgenabled)
FROM pg_trigger AS t JOIN relation AS r ON r.oid = t.tgrelid WHERE NOT t.tgisinternal
UNION ALL
SELECT concat_ws(' ', 'policy', p.polrelid::regclass, p.polname, p.polcmd, p.polpermissive, p.polroles::regrole[],
  pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
FROM pg_policy AS p JOIN relation AS r ON r.oid = p.polrelid
UNION ALL
SELECT concat_ws(' ', 'rule', pg_get_ruledef(w.oid))
FROM pg_rewrite AS w JOIN relation AS r ON r.oid = w.ev_class
UNION ALL
SELECT concat_ws(' ', 'sequence', s.seqrelid::regclass, s.seqtypid::regtype, s.seqstart, s.seqincrement, s.seqmin, s.seqmax,
  s.seqcache, s.seqcycle)
FROM pg_sequence AS s JOIN relation AS r ON r.oid = s.seqrelid
UNION ALL
SELECT concat_ws(' ', 'function', pg_get_functiondef(p.oid), 'of', p.proowner::regrole)
FROM pg_proc AS p JOIN own ON own.oid = p.pronamespace WHERE p.prokind IN ('f', 'p')
UNION ALL
SELECT concat_ws(' ', 'aggregate', p.oid::regprocedure, p.proowner::regrole)
FROM pg_proc AS p JOIN own ON own.oid = p.pronamespace WHERE p.prokind NOT IN ('f', 'p')
UNION ALL
SELECT concat_ws(' ', 'type', format_type(t.oid, NULL), t.typtype, t.typnotnull, t.typdefault, t.typowner::regrole,
  (SELECT string_agg(e.enumlabel, ',' ORDER BY e.enumsortorder) FROM pg_enum AS e WHERE e.enumtypid = t.oid))
FROM pg_type AS t JOIN own ON own.oid = t.typnamespace
UNION ALL
SELECT concat_ws(' ', 'grant on', g.what, a.privilege_type, 'to', a.grantee::regrole, 'by', a.grantor::regrole, a.is_grantable)
FROM granted AS g CROSS JOIN LATERAL aclexplode(g.acl) AS a
UNION ALL
SELECT concat_ws(' ', 'default grant', d.defaclrole::regrole, d.defaclnamespace::regnamespace, d.defaclobjtype, d.defaclacl)
FROM pg_default_acl AS d
UNION ALL
SELECT concat_ws(' ', 'statistics', pg_get_statisticsobjdef(x.oid)) FROM pg_statistic_ext AS x JOIN own ON own.oid = x.stxnamespace
UNION ALL
SELECT concat_ws(' ', 'extension', extname, extversion) FROM pg_extension
UNION ALL
SELECT concat_ws(' ', 'role', rolname, rolcanlogin, rolsuper, rolcreaterole, rolcreatedb, rolbypassrls)
FROM pg_roles WHERE rolname ~ '^playmolt_'
UNION ALL
SELECT concat_ws(' ', 'row of log.head', h.*) FROM log.head AS h
UNION ALL
SELECT concat_ws(' ', 'row of projection.progress', p.*) FROM projection.progress AS p
ORDER BY fact
