-- Page views that are counted in ClickHouse: each batch waits here until ClickHouse has it. What is committed here is kept,
-- whether ClickHouse answers or not.

-- One row if page views are counted there: the name by which ClickHouse knows this ledger.
CREATE TABLE views_counted_in_clickhouse (
    only_row BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (only_row),
    ledger TEXT COLLATE "C" NOT NULL
);

-- Batches that are sent together. Once a batch belongs to one it never belongs to another: ClickHouse knows by the number
-- what it has already.
CREATE TABLE views_shipments (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY);

CREATE TABLE views_batches (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project INTEGER NOT NULL,
    shipment BIGINT,
    -- Quarter hours, pages, readers and views, packed.
    cells BYTEA NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX views_batches_waiting ON views_batches (id) WHERE shipment IS NULL;
CREATE INDEX views_batches_shipment ON views_batches (shipment) WHERE shipment IS NOT NULL;
CREATE INDEX views_batches_project ON views_batches (project, id);
