-- Keys order and find by their bytes: a library of the machine whose order changes with its version breaks no index.
ALTER TABLE migration.applied ALTER COLUMN name TYPE text COLLATE "C";
SET LOCAL ROLE playmolt_owner;
ALTER TABLE lease.in_flight ALTER COLUMN stream TYPE text COLLATE "C";
ALTER TABLE account.secret ALTER COLUMN name TYPE text COLLATE "C";
