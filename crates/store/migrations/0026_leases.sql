-- For those who ask which leases have run out, and for nobody who asks what runs in one project: with the condition that the index of
-- the projects has too, PostgreSQL read all that runs anywhere for each project of a claim.
DROP INDEX jobs_leased;
CREATE INDEX jobs_leased ON jobs (lease_expires_at) WHERE status = 'active' AND lease_expires_at IS NOT NULL;
