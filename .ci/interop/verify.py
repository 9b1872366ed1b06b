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
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
LEDGER = re.compile(r"ledger/account=([a-z0-9][a-z0-9_-]{0,39})/\d{4}-\d\d\.jsonl")
REPORTED = ["campaign_id", "creative_id", "source_id", "campaign_name", "spend", "clicks", "impressions", "conversions"]
MEASURES = REPORTED[4:]
ZERO = decimal.Decimal(0)
FOREVER = datetime.datetime(9999, 12, 31, tzinfo=datetime.timezone.utc)
FOLLOWED = {"last_confirmed_at", "bids_last_read_at"}  # the DuckDB file knows them better than the Parquet files
IN_DUCKDB = {"ops_day_coverage": "ops.day_coverage", "ops_run": "ops.run"}


class Damaged(Exception):
    """Nothing else can be verified."""


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def uvarint(n):
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes(out) + bytes([n])


def varint(n):
    return uvarint(n << 1 if n >= 0 else (-n << 1) - 1)


class Store:
    def __init__(self, folder):
        self.dir = pathlib.Path(folder)
        self.damages = {}
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
        if seal:
            plain = text[: seal.start(1)] + b"0" * 64 + text[seal.end(1):]
            if hashlib.sha256(plain).hexdigest().encode() != seal[1]:
                raise Damaged("manifest.json: the checksum differs")
        try:
            self.root = json.loads(text)
            if self.root["format"] > FORMAT:
                raise SystemExit(f"manifest.json: format {self.root['format']}, this program knows {FORMAT}")
            if self.root["format"] > 1 and not seal:
                raise Damaged("manifest.json: it lacks its checksum")
            parts = self.root["accounts"]
        except (ValueError, KeyError, TypeError) as e:
            raise Damaged(f"manifest.json: it is not readable: {e}")
        self.accounts, self.named = {}, set()
        for name in sorted(parts):
            if not NAME.fullmatch(name):
                raise Damaged(f"manifest.json: account {name!r} is not a valid name")
            self.accounts[name] = parts[name] if self.root["format"] < 3 else self.read_account(name, parts[name])

    def read_account(self, name, part):
        path = f"manifest/account={name}/{part['sha256']}.json"
        if part["path"] != path:
            raise Damaged(f"manifest.json: the file of account {name} is not named by its content")
        text = self.read(path)
        if len(text) != part["bytes"] or hashlib.sha256(text).hexdigest() != part["sha256"]:
            raise Damaged(f"{path}: its bytes are not those that were published")
        self.named.add(path)
        return json.loads(text)

    def verify(self):
        for name, account in self.accounts.items():
            for path, info in account["files"].items():
                self.named.add(path)
                self.file(name, account, path, info)
            for day in account["days"]:
                path = f"parquet/spend_daily/account={name}/day={day}/data.parquet"
                if path not in account["files"]:
                    self.damage(path, "the manifest knows the day but no file of it")
            for path, size in account["ledger"].items():
                self.ledger(path, size, account.get("ledger_sha256", {}).get(path))
        self.look_around()
        self.warehouse()

    def file(self, name, account, path, info):
        full = self.dir / path
        if not full.is_file():
            return self.damage(path, "it is missing")
        if full.stat().st_size != info["bytes"] or sha256(full) != info["sha256"]:
            return self.damage(path, "its bytes are not those that were published")
        try:
            if info["kind"] != "parquet":
                lines = pa.input_stream(str(full), compression="zstd").read().count(b"\n")
                if info["kind"] == "settings" and lines != info["rows"]:
                    self.damage(path, f"it has {lines} lines, and had {info['rows']}")
                return None
            rows = pq.ParquetFile(full).read()
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
        keys, digest = set(), hashlib.sha256()
        reported = [rows[c].to_pylist() for c in REPORTED]
        for *texts, spend, clicks, impressions, conversions in zip(*reported):
            keys.add(tuple(texts[:3]))
            for text in texts:
                raw = text.encode()
                digest.update(uvarint(len(raw)) + raw)
            digest.update(varint(int(spend.scaleb(6))))
            for n in (clicks, impressions, conversions):
                digest.update(b"\0" if n is None else b"\1" + varint(n))
        if len(keys) != rows.num_rows:
            return self.damage(path, "a key occurs twice")
        sums = {"rows": rows.num_rows}
        for name, values in zip(MEASURES, reported[4:]):
            known_values = [v for v in values if v is not None]
            sums[name] = sum(known_values) if known_values or not values else None
        want = dict(known["sums"], spend=int(decimal.Decimal(known["sums"]["spend"]).scaleb(6)))
        if dict(sums, spend=int((sums["spend"] or ZERO).scaleb(6))) != want:
            return self.damage(path, f"its rows add up to {sums}, and did to {known['sums']}")
        if digest.hexdigest() != known["content_hash"]:
            return self.damage(path, "its content is not what was proven")

    def versions(self, path, rows):
        key = rows.column_names[1: rows.column_names.index("version_no")]
        frame = ["version_no", "valid_from", "valid_to", "is_current"]
        before = None
        for row in zip(*(rows[c].to_pylist() for c in key + frame), strict=True):
            of, (no, begins, ends, current) = row[: len(key)], row[len(key):]
            first = before is None or before[0] != of
            if no != (1 if first else before[1] + 1) or begins >= ends or current != (ends == FOREVER) or \
                    (not first and begins != before[2]) or (first and before is not None and before[2] != FOREVER):
                return self.damage(path, f"version {no} of {of} does not join the one before")
            before = (of, no, ends)
        if before is not None and before[2] != FOREVER:
            self.damage(path, f"{before[0]} has no current version")

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
        found = []
        for full in (full for folder in FOLDERS for full in sorted((self.dir / folder).rglob("*"))):
            if not full.is_dir() and not full.name.startswith(".spendsync-"):
                found.append(full.relative_to(self.dir).as_posix())
        if any(self.is_newer(path) for path in found):
            self.damage("manifest.json", "a part of the store is newer than the manifest")
        for path in found:
            if path not in self.named and not LEDGER.fullmatch(path):
                self.damage(path, "the manifest does not name it")

    def runs(self, path, skip=0):
        """The runs of a ledger file behind its first bytes, as far as it can be read."""
        for line in (self.dir / path).read_bytes()[skip:].split(b"\n"):
            try:
                yield json.loads(line)["run"]
            except (ValueError, KeyError, TypeError):
                continue

    def is_newer(self, path):
        generation = self.root["generation"]
        if of := LEDGER.fullmatch(path):
            published = self.accounts.get(of[1], {}).get("ledger", {}).get(path, 0)
            return any(r.get("published") and r["generation"] > generation for r in self.runs(path, published))
        of = re.match(r"parquet/[^/]+/account=([^/]+)/", path)
        account = self.accounts.get(of[1]) if of else None
        info = account["files"].get(path) if account else None
        if not account or info and info["bytes"] == (self.dir / path).stat().st_size or path.startswith("parquet/mart_"):
            return False
        if any(p in self.damages for p in account["ledger"]):
            return False  # the run may have been in what is lost of it
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
        if not full.is_file():
            return self.damage("warehouse.duckdb", "it is missing")
        if full.stat().st_size != info["bytes"] or sha256(full) != info["sha256"]:
            self.damage("warehouse.duckdb", "its bytes are not those that were published")
            if self.newest_in_duckdb(full) > self.root["generation"]:
                self.damage("manifest.json", "warehouse.duckdb is newer than the manifest")
            return None
        if (self.dir / "warehouse.duckdb.wal").exists():
            self.damage("warehouse.duckdb.wal", "somebody opened warehouse.duckdb for writing")
        if not self.damages:
            self.rows_in_duckdb(full)

    @staticmethod
    def newest_in_duckdb(full):
        try:
            with duckdb.connect(str(full), read_only=True) as db:
                return db.execute("SELECT coalesce(max(generation), 0) FROM ops.run WHERE published").fetchone()[0]
        except (duckdb.Error, OSError):
            return 0

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
                columns = {r[0] for r in db.execute(f"DESCRIBE FROM {parquet}").fetchall()} - FOLLOWED
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
    return 1 if damages else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
