-- Which batches were committed, for whoever loses the connection in that and must know. Each is forgotten after a while. Those that
-- are not kept were written by who asked: their batch cannot be committed any more.
CREATE TABLE views_receipts (
    id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
    kept BOOLEAN NOT NULL,
    written TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX views_receipts_written ON views_receipts USING brin (written) WITH (pages_per_range = 32);
