#!/usr/bin/env python3
"""Asks DuckDB or chDB what `bench views` asks Copydesk, over the same views; prints one JSON object.

    bench-views-peers.py duckdb|chdb --folder DIR (--views CSV | --rollup CSV) --end DATE

--views has a line for each view: second, path, 1 for AI. It is loaded, and the daily rollup is built from it.
--rollup has the rollup itself: date, path, human, ai. Questions are answered from the rollup, warm and in this very
process, without HTTP, and in whichever of several phrasings is the fastest.
"""

import argparse
import datetime
import json
import os
import resource
import statistics
import time

ORDER = "ORDER BY sum(human) + sum(ai) DESC, path ASC LIMIT 50"
WHERE = "WHERE day >= '{first}' AND day < '{end}'"


class DuckDB:
    name = "DuckDB"

    def __init__(self, folder):
        import duckdb

        self.version = duckdb.__version__
        self.file = os.path.join(folder, "duckdb")
        self.db = duckdb.connect(self.file)

    def load_views(self, csv):
        self.db.execute(
            "CREATE TABLE views AS SELECT * FROM read_csv(?, header=false, "
            "columns={'second': 'BIGINT', 'path': 'VARCHAR', 'ai': 'UTINYINT'})",
            [csv],
        )

    def roll_up(self):
        self.db.execute(
            "CREATE TABLE daily AS SELECT DATE '1970-01-01' + CAST(second // 86400 AS INTEGER) AS day, path, "
            "CAST(count(*) FILTER (ai = 0) AS UINTEGER) AS human, CAST(count(*) FILTER (ai = 1) AS UINTEGER) AS ai "
            "FROM views GROUP BY ALL ORDER BY day, path"
        )
        self.db.execute("DROP TABLE views")
        self.db.execute("CHECKPOINT")

    def load_rollup(self, csv):
        self.db.execute(
            "CREATE TABLE daily AS SELECT * FROM read_csv(?, header=false, "
            "columns={'day': 'DATE', 'path': 'VARCHAR', 'human': 'UINTEGER', 'ai': 'UINTEGER'})",
            [csv],
        )
        self.db.execute("CHECKPOINT")

    def rows(self):
        return self.db.execute("SELECT count(*) FROM daily").fetchone()[0]

    def bytes(self):
        """Without what the loading left free in the file."""
        used, block = self.db.execute("SELECT used_blocks, block_size FROM pragma_database_size()").fetchone()
        return used * block

    def in_two(self, where):
        totals = self.db.execute(f"SELECT sum(human), sum(ai) FROM daily {where}").fetchone()
        rows = self.db.execute(f"SELECT path, sum(human), sum(ai) FROM daily {where} GROUP BY path {ORDER}").fetchall()
        return [int(it or 0) for it in totals], [[path, int(human), int(ai)] for path, human, ai in rows]

    def in_one(self, where):
        rows = self.db.execute(
            "SELECT path, sum(human), sum(ai), sum(sum(human)) OVER (), sum(sum(ai)) OVER () "
            f"FROM daily {where} GROUP BY path {ORDER}"
        ).fetchall()
        totals = [int(rows[0][3]), int(rows[0][4])] if rows else [0, 0]
        return totals, [[row[0], int(row[1]), int(row[2])] for row in rows]

    def once_grouped(self, where):
        """Groups once, then adds up and sorts the few groups."""
        rows = self.db.execute(
            f"WITH pages AS MATERIALIZED (SELECT path, sum(human) AS h, sum(ai) AS a FROM daily {where} GROUP BY path) "
            "(SELECT NULL, sum(h), sum(a) FROM pages) UNION ALL "
            "(SELECT path, h, a FROM pages ORDER BY h + a DESC, path ASC LIMIT 50)"
        ).fetchall()
        rows = [[path, int(human or 0), int(ai or 0)] for path, human, ai in rows]
        return rows[0][1:], rows[1:]

    phrasings = ("in_two", "in_one", "once_grouped")


class ChDB:
    name = "chDB"

    def __init__(self, folder):
        import chdb
        from chdb import session

        self.version = f"{chdb.__version__} (ClickHouse {chdb.engine_version})"
        self.folder = os.path.join(folder, "chdb")
        self.db = session.Session(self.folder)
        self.ask("CREATE DATABASE bench ENGINE = Atomic")
        self.ask(
            "CREATE TABLE bench.daily (day Date, path LowCardinality(String), human UInt32, ai UInt32) "
            "ENGINE = SummingMergeTree ORDER BY (day, path)"
        )

    def ask(self, sql):
        return self.db.query(sql, "TabSeparatedRaw").bytes().decode()

    def load_views(self, csv):
        self.ask("CREATE TABLE bench.views (second UInt32, path LowCardinality(String), ai UInt8) "
                 "ENGINE = MergeTree ORDER BY second")
        self.ask("INSERT INTO bench.views SELECT * FROM "
                 f"file('{csv}', 'CSV', 'second UInt32, path LowCardinality(String), ai UInt8')")

    def roll_up(self):
        self.ask("INSERT INTO bench.daily SELECT toDate(toDateTime(second, 'UTC'), 'UTC') AS day, path, countIf(ai = 0), "
                 "countIf(ai = 1) FROM bench.views GROUP BY day, path")
        self.ask("DROP TABLE bench.views SYNC")
        self.ask("OPTIMIZE TABLE bench.daily FINAL")

    def load_rollup(self, csv):
        self.ask("INSERT INTO bench.daily SELECT * FROM "
                 f"file('{csv}', 'CSV', 'day Date, path LowCardinality(String), human UInt32, ai UInt32')")
        self.ask("OPTIMIZE TABLE bench.daily FINAL")

    def rows(self):
        return int(self.ask("SELECT count() FROM bench.daily"))

    def bytes(self):
        return int(self.ask("SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table = 'daily'"))

    @staticmethod
    def read(text):
        rows = [line.split("\t") for line in text.split("\n") if line]
        return [[path, int(human), int(ai)] for path, human, ai in rows]

    def in_two(self, where):
        totals = self.ask(f"SELECT sum(human), sum(ai) FROM bench.daily {where}").split("\t")
        rows = self.ask(f"SELECT path, sum(human), sum(ai) FROM bench.daily {where} GROUP BY path {ORDER}")
        return [int(it) for it in totals], self.read(rows)

    def with_totals(self, where):
        sql = f"SELECT path, sum(human), sum(ai) FROM bench.daily {where} GROUP BY path WITH TOTALS {ORDER}"
        rows = self.read(self.ask(sql))
        return rows[-1][1:], rows[:-1]

    phrasings = ("in_two", "with_totals")


def measure(engine, phrasing, where, runs):
    """The median time of a phrasing, and what it answers."""
    ask = getattr(engine, phrasing)
    answer = ask(where)
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        if ask(where) != answer:
            raise SystemExit(f"{engine.name} answers the same question in two ways")
        times.append(time.perf_counter() - began)
    return statistics.median(times), answer


def timed(work, *arguments):
    began = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=["duckdb", "chdb"])
    parser.add_argument("--folder", required=True)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--views")
    source.add_argument("--rollup")
    parser.add_argument("--end", required=True, type=datetime.date.fromisoformat)
    parser.add_argument("--days", default="7,30,365")
    parser.add_argument("--runs", type=int, default=20)
    args = parser.parse_args()

    engine = {"duckdb": DuckDB, "chdb": ChDB}[args.engine](args.folder)
    if args.views:
        load = timed(engine.load_views, args.views)
        rollup = timed(engine.roll_up)
    else:
        load, rollup = timed(engine.load_rollup, args.rollup), 0.0
    ranges = []
    for days in map(int, args.days.split(",")):
        where = WHERE.format(first=args.end - datetime.timedelta(days=days), end=args.end)
        tried = {phrasing: measure(engine, phrasing, where, args.runs) for phrasing in engine.phrasings}
        if len({json.dumps(answer) for _, answer in tried.values()}) != 1:
            raise SystemExit(f"{engine.name} answers differ by phrasing")
        fastest = min(tried, key=lambda phrasing: tried[phrasing][0])
        median, (totals, rows) = tried[fastest]
        ranges.append({"days": days, "seconds": median, "phrasing": fastest, "totals": totals, "rows": rows})
    print(json.dumps({
        "name": engine.name,
        "version": engine.version,
        "load_seconds": load,
        "rollup_seconds": rollup,
        "rollup_rows": engine.rows(),
        "rollup_bytes": engine.bytes(),
        "peak_memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "ranges": ranges,
    }))


if __name__ == "__main__":
    main()
