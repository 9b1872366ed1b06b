"""Damages a store in many ways, and compares what verify.py and 'spendsync verify' name: damages.py BINARY DATA_DIR STORES
The store is copied. STORES is the folder of the packed stores of older versions, which are verified as they are."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import verify


def put(path, content):
    """Replaces a file, which may be read-only and linked."""
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    put(path, bytes(content))


def cut(path):
    put(path, path.read_bytes()[: path.stat().st_size // 2])


def seal(text):
    plain = re.sub(rb'("checksum": ?")[0-9a-f]{64}', rb"\g<1>" + b"0" * 64, text, count=1)
    return plain.replace(b"0" * 64, hashlib.sha256(plain).hexdigest().encode(), 1)


def republish(store, edit):
    """Edits the manifests of an account and of the store, and updates their hashes as a writer would."""
    root = json.loads((store / "manifest.json").read_bytes())
    name, part = next(iter(root["accounts"].items()))
    account = json.loads((store / part["path"]).read_bytes())
    edit(root, account)
    text = json.dumps(account, separators=(",", ":"), ensure_ascii=False).encode()
    (store / part["path"]).unlink()
    part.update(sha256=hashlib.sha256(text).hexdigest(), bytes=len(text))
    part["path"] = f"manifest/account={name}/{part['sha256']}.json"
    put(store / part["path"], text)
    put(store / "manifest.json", seal(json.dumps(root, indent=1).encode()))


def describe(store, path, info):
    """Records the present size and hash of a file in the account's manifest."""
    content = (store / path).read_bytes()
    info.update(bytes=len(content), sha256=hashlib.sha256(content).hexdigest())


def cases(store, older):
    """The name of each case, and the function that damages a copy of the store."""
    root = json.loads((store / "manifest.json").read_bytes())
    part = next(iter(root["accounts"].values()))["path"]
    account = json.loads((store / part).read_bytes())
    files = account["files"]
    tables = {f["table"]: p for p, f in sorted(files.items()) if f["kind"] == "parquet" and f["rows"]}
    kinds = {f["kind"]: p for p, f in sorted(files.items()) if f["kind"] != "parquet"}
    ledger = next(iter(account["ledger"]))
    spend = tables["spend_daily"]
    day = files[spend]["day"]

    for path in ["manifest.json", part, "warehouse.duckdb", ledger, *kinds.values(), spend, tables["campaign_history"]]:
        for name, harm in {"flipped": flip, "cut": cut, "removed": pathlib.Path.unlink, "emptied": lambda p: put(p, b"")}.items():
            yield f"{path} {name}", lambda s, path=path, harm=harm: harm(s / path)
    for table in sorted(tables.keys() - {"spend_daily", "campaign_history"}):
        yield f"{table} flipped", lambda s, path=tables[table]: flip(s / path)
    yield "two files flipped", lambda s: (flip(s / spend), flip(s / tables["calendar"]))
    yield "ledger and DuckDB removed", lambda s: ((s / ledger).unlink(), (s / "warehouse.duckdb").unlink())

    for path in ["parquet/spend_daily/extra.parquet", spend.replace("data.parquet", "data2.parquet"), "raw/x", "ledger/x.jsonl",
                 "manifest/account=demo/x.json", "parquet/spend_daily/account=nobody/day=2026-01-01/data.parquet"]:
        yield f"stray {path}", lambda s, path=path: put(s / path, (s / spend).read_bytes())
    yield "stray link", lambda s: (s / "parquet" / "link").symlink_to("/dev/null")
    yield "a write-ahead log", lambda s: put(s / "warehouse.duckdb.wal", b"x")
    yield "a line of the ledger is no JSON", lambda s: put(s / ledger, (s / ledger).read_bytes() + b"{oops\n")
    later = {"run": {"account_id": "demo", "_run_id": "LATER", "published": True, "generation": root["generation"] + 5}}
    yield "the ledger is newer", lambda s: put(s / ledger, (s / ledger).read_bytes() + json.dumps(later).encode() + b"\n")

    for names in (["manifest.json", "manifest"], ["warehouse.duckdb"], ["ledger"], ["manifest.json", "manifest", "ledger"],
                  ["manifest.json", "manifest", "warehouse.duckdb"]):
        yield "set back: " + ", ".join(names), lambda s, names=names: set_back(s, older, names)

    def edited(edit):
        return lambda s: republish(s, lambda root, a: edit(s, root, a))

    def rewritten(table, change):
        def edit(s, _, a):
            path = tables[table]
            rows = change(pq.ParquetFile(s / path).read())
            (s / path).unlink()
            pq.write_table(rows, s / path)
            describe(s, path, a["files"][path])
            a["files"][path]["rows"] = rows.num_rows
        return edited(edit)

    def in_duckdb(sql):
        def edit(s, root, _):
            path = s / "warehouse.duckdb"
            put(path, path.read_bytes())
            os.chmod(path, 0o600)
            with duckdb.connect(str(path)) as db:
                db.execute(sql)
            describe(s, "warehouse.duckdb", root["warehouse"])
        return edited(edit)

    def plus_one(rows, column):
        values = rows[column].to_pylist()
        i = next(i for i, v in enumerate(values) if v is not None)
        values[i] += 1
        at = rows.column_names.index(column)
        return rows.set_column(at, rows.field(column), pa.array(values, rows.field(column).type))

    yield "another content hash", edited(lambda s, r, a: a["days"][day].update(content_hash="0" * 64))
    yield "other sums", edited(lambda s, r, a: a["days"][day]["sums"].update(spend="1.000000"))
    yield "sums of other rows", edited(lambda s, r, a: a["days"][day]["sums"].update(rows=1))
    yield "other rows of a file", edited(lambda s, r, a: a["files"][tables["calendar"]].update(rows=1))
    yield "a day without a file", edited(lambda s, r, a: (a["files"].pop(spend), (s / spend).unlink()))
    yield "a file without a day", edited(lambda s, r, a: a["days"].pop(day))
    yield "a longer ledger", edited(lambda s, r, a: a["ledger"].update({ledger: 10**9}))
    yield "another hash of the ledger", edited(lambda s, r, a: a["ledger_sha256"].update({ledger: "0" * 64}))
    yield "an unnamed file", edited(lambda s, r, a: a["files"].pop(tables["calendar"]))
    yield "a day in another order", rewritten("spend_daily", lambda t: t.take(list(range(t.num_rows))[::-1]))
    yield "a key twice", rewritten("spend_daily", lambda t: pa.concat_tables([t.slice(0, 1), t]))
    yield "another number", rewritten("spend_daily", lambda t: plus_one(t, "clicks"))
    yield "a version left out", rewritten("campaign_history", lambda t: plus_one(t, "version_no"))
    yield "a row of the calendar changed", rewritten("calendar", lambda t: plus_one(t, "hours"))
    yield "DuckDB has another number", in_duckdb("UPDATE spend_daily SET clicks = clicks + 1 WHERE campaign_id = (SELECT min(campaign_id) FROM spend_daily)")
    yield "DuckDB lacks a row", in_duckdb("DELETE FROM campaign_history WHERE rowid = 0")
    yield "a format of the future", lambda s: put(s / "manifest.json", (s / "manifest.json").read_bytes().replace(b'"format": 3', b'"format": 4'))
    yield "an account file of another name", lambda s: renamed(s, part)


def set_back(store, older, names):
    for name in names:
        if (store / name).is_dir():
            shutil.rmtree(store / name)
            shutil.copytree(older / name, store / name)
        else:
            put(store / name, (older / name).read_bytes())


def renamed(store, part):
    to = part.replace(pathlib.Path(part).stem, "0" * 64)
    (store / part).rename(store / to)
    put(store / "manifest.json", seal((store / "manifest.json").read_bytes().replace(part.encode(), to.encode())))


def named_by_us(store):
    try:
        s = verify.Store(store)
        s.verify()
        return sorted(s.damages)
    except verify.Damaged as e:
        return [str(e).split(": ", 1)[0]]


def named_by(binary, store):
    env = dict(os.environ, SPENDSYNC_DATA_DIR=str(store), SPENDSYNC_ACCOUNT="demo")
    done = subprocess.run([binary, "verify", "--json"], env=env, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 8):
        return [f"exit {done.returncode}: {done.stderr[-300:]}"]
    return sorted({d["path"] for d in json.loads(done.stdout)["damages"] or []})


def main(binary, data_dir, stores):
    wrong, n, kept = [], 0, sorted(pathlib.Path(stores).glob("*.tar.zst"))
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        for packed in kept:
            store = work / packed.name
            store.mkdir()
            with pa.input_stream(str(packed), compression="zstd") as content:
                subprocess.run(["tar", "-x", "-C", str(store)], input=content.read(), check=True)
            if found := named_by_us(store):
                wrong.append(f"{packed.name}: verify.py names {found}")
        older, good, bad = pathlib.Path(data_dir), work / "good", work / "bad"
        shutil.copytree(older, good)
        subprocess.run([binary, "repair", "rebuild"], env=dict(os.environ, SPENDSYNC_DATA_DIR=str(good), SPENDSYNC_ACCOUNT="demo"),
                       capture_output=True, check=True)
        for name, harm in [("nothing", lambda s: None), *cases(good, older)]:
            shutil.copytree(good, bad, copy_function=os.link)
            harm(bad)
            ours, theirs = named_by_us(bad), named_by(binary, bad)
            if ours != theirs or (name == "nothing") != (ours == []):
                wrong.append(f"{name}: verify.py names {ours}, spendsync {theirs}")
            shutil.rmtree(bad)
            n += 1
    if wrong:
        raise SystemExit("\n".join(wrong))
    print(f"verify.py passes {len(kept)} kept stores, and names in {n} cases what spendsync verify names")


if __name__ == "__main__":
    main(*sys.argv[1:])
