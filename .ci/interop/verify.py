"""Verifies a data directory by load/FORMAT.md alone: python verify.py DATA_DIR
Prints a line for each damaged file, and exits 1 if there is one. It changes nothing and takes no lock."""
import datetime
import decimal
import hashlib
import json
import pathlib
import re
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

FORMAT = 3
FOLDERS = ("parquet", "raw", "ledger", "manifest")
LEDGER = re.compile(r"ledger/account=([a-z0-9][a-z0-9_-]{0,39})/\d{4}-\d\d\.jsonl")
REPORTED = ["campaign_id", "creative_id", "source_id", "campaign_name", "spend", "clicks", "impressions", "conversions"]
FOREVER = datetime.datetime(9999, 12, 31, tzinfo=datetime.timezone.utc)
# Before version 12 of the tables, only the DuckDB file had their latest values.
FOLLOWED = {"last_confirmed_at", "bids_last_read_at"}
IN_DUCKDB = {"ops_day_coverage": "ops.day_coverage", "ops_run": "ops.run"}


class Damaged(Exception):
    """A damage that makes it impossible to verify anything else."""


def uvarint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + uvarint(n >> 7)


class Store:
    def __init__(self, folder):
        self.dir, self.damages, self.accounts, self.named = pathlib.Path(folder), {}, {}, set()
        self.read_manifest()

    def damage(self, path, what):
        self.damages.setdefault(path, what)

    def read(self, path):
        try:
            return (self.dir / path).read_bytes()
        except FileNotFoundError:
            raise Damaged(f"{path}: it is missing") from None

    def read_manifest(self):
        text = self.read("manifest.json")
        seal = re.search(rb'"checksum": ?"([0-9a-f]{64})"', text[:128])
        if seal and hashlib.sha256(text.replace(seal[1], b"0" * 64, 1)).hexdigest().encode() != seal[1]:
            raise Damaged("manifest.json: the checksum differs")
        try:
            self.root = json.loads(text)
            if self.root["format"] > FORMAT:
                raise SystemExit(f"manifest.json: format {self.root['format']}, this program knows {FORMAT}")
            if self.root["format"] > 1 and not seal:
                raise Damaged("manifest.json: it lacks its checksum")
            for name, part in sorted(self.root["accounts"].items()):
                self.accounts[name] = part if self.root["format"] < 3 else self.read_account(name, part)
        except (ValueError, KeyError, TypeError) as e:
            raise Damaged(f"manifest.json: it is not readable: {e}") from e

    def read_account(self, name, part):
        path = f"manifest/account={name}/{part['sha256']}.json"
        if part["path"] != path:
            raise ValueError(f"{part['path']} is not named by its content")
        text = self.read(path)
        if len(text) != part["bytes"] or hashlib.sha256(text).hexdigest() != part["sha256"]:
            raise Damaged(f"{path}: its bytes are not those that were published")
        self.named.add(path)
        return json.loads(text)

    def verify(self):
        for name, account in self.accounts.items():
            self.named |= account["files"].keys()
            for path, info in account["files"].items():
                self.file(name, account, path, info)
            days = {f"parquet/spend_daily/account={name}/day={day}/data.parquet" for day in account["days"]}
            for path in days - self.named:
                self.damage(path, "the manifest knows the day but no file of it")
            for path, size in account["ledger"].items():
                self.ledger(path, size, account.get("ledger_sha256", {}).get(path))
        self.look_around()
        self.warehouse()

    def is_intact(self, path, info):
        try:
            with open(self.dir / path, "rb") as f:
                if hashlib.file_digest(f, "sha256").hexdigest() != info["sha256"] or f.tell() != info["bytes"]:
                    self.damage(path, "its bytes are not those that were published")
        except FileNotFoundError:
            self.damage(path, "it is missing")
        return path not in self.damages

    def file(self, name, account, path, info):
        if not self.is_intact(path, info):
            return None
        try:
            if info["kind"] == "duckdb":
                return None
            if info["kind"] != "parquet":  # lines of JSON, or one reply
                pa.input_stream(str(self.dir / path), compression="zstd").read()
                return None
            rows = pq.ParquetFile(self.dir / path).read()
        except (OSError, pa.ArrowException) as e:
            return self.damage(path, f"it is not readable: {e}")
        if rows.num_rows != info["rows"]:
            self.damage(path, f"it has {rows.num_rows} rows, and had {info['rows']}")
        elif info["table"] == "spend_daily":
            self.day(name, account["days"].get(info["day"]), path, info["day"], rows)
        elif "version_no" in rows.column_names:
            self.versions(path, rows)

    def day(self, name, known, path, day, rows):
        if known is None:
            return self.damage(path, "the manifest does not know its day")
        whose = set(zip(rows["account_id"].to_pylist(), rows["report_date"].to_pylist()))
        if whose - {(name, datetime.date.fromisoformat(day))}:
            return self.damage(path, "it has rows of another account or day")
        keys, digest, signed = set(), hashlib.sha256(), lambda n: uvarint(2 * n if n >= 0 else -2 * n - 1)
        reported = [rows[c].to_pylist() for c in REPORTED]
        hashed = 3 if self.root["schema_version"] >= 12 else 4  # the campaign's name is a label since then
        for *texts, spend, clicks, impressions, conversions in zip(*reported):
            keys.add(tuple(texts[:3]))
            for raw in (text.encode() for text in texts[:hashed]):
                digest.update(uvarint(len(raw)) + raw)
            digest.update(signed(int(spend.scaleb(6))))
            for n in (clicks, impressions, conversions):
                digest.update(b"\0" if n is None else b"\1" + signed(n))
        if len(keys) != rows.num_rows:
            return self.damage(path, "a key occurs twice")
        sums = {"rows": rows.num_rows}
        for measure, values in zip(REPORTED[4:], reported[4:]):
            some = [v for v in values if v is not None]
            sums[measure] = sum(some, 0) if some or not values else None
        want = dict(known["sums"], spend=int(decimal.Decimal(known["sums"]["spend"]).scaleb(6)))
        if dict(sums, spend=int(decimal.Decimal(sums["spend"]).scaleb(6))) != want:
            return self.damage(path, f"its rows add up to {sums}, and did to {known['sums']}")
        if digest.hexdigest() != known["content_hash"]:
            return self.damage(path, "its content is not what was proven")

    def versions(self, path, rows):
        first = rows.column_names.index("version_no")
        frame = [rows[c].to_pylist() for c in ("version_no", "valid_from", "valid_to", "is_current")]
        keys = list(zip(*(rows[c].to_pylist() for c in rows.column_names[1:first])))
        for i, (key, no, begins, ends, current) in enumerate(zip(keys, *frame)):
            is_new, is_last = i == 0 or keys[i - 1] != key, i + 1 == len(keys) or keys[i + 1] != key
            joins = no == 1 if is_new else (no, begins) == (frame[0][i - 1] + 1, frame[2][i - 1])
            if not joins or begins >= ends or current != is_last or (ends == FOREVER) != is_last:
                return self.damage(path, f"version {no} of {key} does not join the one before")

    def ledger(self, path, size, digest):
        full = self.dir / path
        lines = full.read_bytes() if full.is_file() else b""
        if len(lines) < size:
            return self.damage(path, f"it has {len(lines)} bytes, and had {size} when it was published")
        if digest and hashlib.sha256(lines[:size]).hexdigest() != digest:
            return self.damage(path, "its bytes are not those that were published")
        try:
            for line in filter(None, lines.split(b"\n")):
                json.loads(line)
        except ValueError as e:
            self.damage(path, f"a line is not readable: {e}")

    def look_around(self):
        found = [f.relative_to(self.dir).as_posix() for folder in FOLDERS for f in (self.dir / folder).rglob("*")
                 if not f.is_dir() and not f.name.startswith(".spendsync-")]
        if any(self.is_newer(path) for path in found):
            self.damage("manifest.json", "a part of the store is newer than the manifest")
        for path in (p for p in found if p not in self.named and not LEDGER.fullmatch(p)):
            self.damage(path, "the manifest does not name it")

    def runs(self, path, skip=0):
        """The runs in a ledger file after its first bytes, up to the first unreadable line."""
        for line in (self.dir / path).read_bytes()[skip:].split(b"\n"):
            try:
                yield json.loads(line)["run"]
            except (ValueError, KeyError, TypeError):
                continue

    def is_newer(self, path):
        if of := LEDGER.fullmatch(path):
            published = self.accounts.get(of[1], {}).get("ledger", {}).get(path, 0)
            return any(r["published"] and r["generation"] > self.root["generation"] for r in self.runs(path, published))
        of = re.match(r"parquet/[^/]+/account=([^/]+)/", path)
        account = self.accounts.get(of[1]) if of else None
        info = account["files"].get(path) if account else None
        if not account or not path.endswith("/data.parquet") or path.startswith("parquet/mart_") or \
                info and info["bytes"] == (self.dir / path).stat().st_size or \
                any(p in self.damages for p in account["ledger"]):  # the missing run may have been in the damaged part
            return False
        try:
            written = set(pq.read_table(self.dir / path, columns=["_run_id"], partitioning=None)["_run_id"].to_pylist())
        except (OSError, KeyError, pa.ArrowException):
            return False
        known = {self.root["run_id"]} | {f["run_id"] for f in account["files"].values()}
        known |= {d["run_id"] for d in account["days"].values()}
        for full in (self.dir / "ledger" / f"account={of[1]}").glob("*.jsonl"):
            known |= {r["_run_id"] for r in self.runs(full.relative_to(self.dir))}
        return bool(written - known)

    def warehouse(self):
        full, info = self.dir / "warehouse.duckdb", self.root["warehouse"]
        if not self.is_intact("warehouse.duckdb", info):
            try:
                with duckdb.connect(str(full), read_only=True) as db:
                    newest = db.execute("SELECT max(generation) FROM ops.run WHERE published").fetchone()[0]
                if newest > self.root["generation"]:
                    self.damage("manifest.json", "warehouse.duckdb is newer than the manifest")
            except (duckdb.Error, OSError, TypeError):
                pass  # a file that cannot be read does not contradict the manifest
            return
        if (self.dir / "warehouse.duckdb.wal").exists():
            self.damage("warehouse.duckdb.wal", "somebody opened warehouse.duckdb for writing")
        if not self.damages:
            self.rows_in_duckdb(full)

    def rows_in_duckdb(self, full):
        files = {}
        for account in self.accounts.values():
            for path, info in account["files"].items():
                if info["kind"] == "parquet" and not info["table"].startswith("mart_"):
                    files.setdefault(info["table"], []).append(str(self.dir / path))
        with duckdb.connect(str(full), read_only=True) as db:
            for table, paths in files.items():
                name = IN_DUCKDB.get(table, table)
                parquet = f"read_parquet({paths!r}, union_by_name = true, hive_partitioning = false)"
                columns = {r[0] for r in db.execute(f"DESCRIBE FROM {parquet}").fetchall()}
                columns -= FOLLOWED if self.root["schema_version"] < 12 else set()
                columns &= {r[0] for r in db.execute(f"DESCRIBE {name}").fetchall()}
                chosen = ", ".join(f'"{c}"' for c in sorted(columns))
                one, other = f"SELECT {chosen} FROM {name}", f"SELECT {chosen} FROM {parquet}"
                for a, b in ((one, other), (other, one)):
                    if db.execute(f"SELECT count(*) FROM (({a}) EXCEPT ALL ({b}))").fetchone()[0]:
                        self.damage("warehouse.duckdb", f"{name} has other rows than its Parquet files")


def main(folder):
    try:
        store = Store(folder)
        store.verify()
        damages = store.damages
    except Damaged as e:
        damages = dict([str(e).split(": ", 1)])
    for path, what in sorted(damages.items()):
        print(f"damaged  {path}: {what}")
    if not damages:
        print(f"generation {store.root['generation']} is as it was published: {len(store.named)} files")
    return bool(damages)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
