"""Publishes generations, each of which 'sync' copies to SPENDSYNC_BUCKET, while eight processes of three kinds read the
bucket. Every answer must be that of a single generation, and not older than the pointer that was read before it.
    bucket_readers.py SPENDSYNC ENDPOINT BUCKET/PREFIX PUBLICATIONS FOLDER"""
import datetime
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
import urllib.request
import zoneinfo

import boto3
import duckdb
import duckdb_extension_httpfs
import polars as pl
import pyarrow.dataset as ds
import pyarrow.fs

spendsync, endpoint, where, publications, folder = sys.argv[1:]
BY_DAY = "SELECT report_date::VARCHAR AS day, sum(spend)::VARCHAR AS spend FROM {}spend_daily GROUP BY ALL"
GENERATION = "SELECT max(generation) AS generation FROM {}ops.run WHERE published"


def storage():
    return pyarrow.fs.S3FileSystem(endpoint_override=endpoint)


def generation(name):
    """The generation in current.json, or in pushed.json, which names that of the last completed push."""
    # Read the pointer in one request. pyarrow's stream requests the size first, and would cut off a longer pointer that
    # replaces the first one in between.
    bucket, prefix = where.split("/", 1)
    text = json.load(boto3.client("s3", endpoint_url=endpoint).get_object(Bucket=bucket, Key=f"{prefix}/{name}.json")["Body"])
    return (text if "generation" in text else text["pointer"])["generation"]


def connect():
    db = duckdb.connect()
    db.sql("SET enable_progress_bar = false")
    extensions = os.path.join(os.path.dirname(duckdb_extension_httpfs.__file__), "extensions", "v" + duckdb.__version__)
    db.sql(f"LOAD '{extensions}/httpfs.duckdb_extension'")
    db.sql(f"""CREATE SECRET (TYPE s3, KEY_ID '{os.environ["AWS_ACCESS_KEY_ID"]}', SECRET
        '{os.environ["AWS_SECRET_ACCESS_KEY"]}', REGION '{os.environ["AWS_REGION"]}', URL_STYLE 'path', USE_SSL false,
        ENDPOINT '{endpoint.removeprefix("http://")}')""")
    return db


def by_pointer(db):
    """Opens the DuckDB file by its name, which no other content ever has."""
    name, is_of = db.sql(f"SELECT warehouse.name, generation FROM read_json('s3://{where}/current.json')").fetchone()
    db.sql(f"ATTACH 's3://{where}/{name}' AS spend (READ_ONLY)")
    days = dict(db.sql(BY_DAY.format("spend.")).fetchall())
    own = db.sql(GENERATION.format("spend.")).fetchone()[0]
    db.sql("DETACH spend")
    assert own == is_of, (own, is_of)
    return own, days


def by_pointer_anew(_):
    return by_pointer(connect())


def by_pyarrow(_):
    table = ds.dataset(where + "/parquet/spend_daily", filesystem=storage()).to_table(columns=["report_date", "spend"])
    days = table.group_by("report_date").aggregate([("spend", "sum")]).to_pylist()
    return None, {str(d["report_date"]): str(d["spend_sum"]) for d in days}


def by_polars(_):
    rows = pl.scan_parquet(f"s3://{where}/parquet/spend_daily/*/*/*.parquet", hive_partitioning=False,
                           storage_options={"aws_endpoint_url": endpoint, "aws_allow_http": "true"})
    days = rows.group_by("report_date").agg(pl.col("spend").sum()).collect()
    return None, {str(d): str(s) for d, s in days.iter_rows()}


def by_pull(own_folder):
    """Reads the local folder that 'pull --watch' keeps current."""
    db = duckdb.connect(own_folder + "/warehouse.duckdb", read_only=True)
    db.sql("SET enable_progress_bar = false")
    try:
        return db.sql(GENERATION.format("")).fetchone()[0], dict(db.sql(BY_DAY.format("")).fetchall())
    finally:
        db.close()


KINDS = {"duckdb": (by_pointer_anew, 2), "duckdb, one connection": (by_pointer, 1), "pyarrow": (by_pyarrow, 2),
         "polars": (by_polars, 1), "pull --watch": (by_pull, 2)}


def reader(kind, n, stop, seen):
    read, pulls = KINDS[kind][0], None
    own = f"{folder}/pull{n}"
    if read is by_pull:
        pulls = subprocess.Popen([spendsync, "pull", "--watch", "--every", "500ms", "s3://" + where, own],
                                 stderr=subprocess.DEVNULL)
        while not os.path.exists(own + "/warehouse.duckdb"):
            time.sleep(0.1)
    state = connect() if read is by_pointer else own
    failed = 0
    while True:
        last = stop.is_set()  # one more answer after the last publication
        before, ended = generation("current"), generation("pushed")
        try:
            seen.put((kind, n, before, ended, *read(state)))
        except Exception as err:  # a file or the pointer was replaced between two requests: read again, as the manual says
            failed += 1
            seen.put((kind, n, before, ended, None, str(err)))
        if last:
            break
    if pulls:
        pulls.send_signal(signal.SIGTERM)
        pulls.wait()
    print("reader", n, kind, "ends", flush=True)


def ask(question):
    return json.loads(subprocess.check_output([spendsync, "query", "--format", "json", "-c", question]))


def publish(percent):
    """Restates yesterday and publishes. The store's own answer is then the expected one of that generation."""
    day = datetime.datetime.now(zoneinfo.ZoneInfo("America/Chicago")).date() - datetime.timedelta(days=1)
    order = json.dumps({"day": str(day), "kind": "multiply", "percent": percent}).encode()
    urllib.request.urlopen(os.environ["SPENDSYNC_ADVERTISER_URL"].removesuffix("/api") + "/_sim/restate", order).close()
    subprocess.run([spendsync, "sync"], check=True, stderr=subprocess.DEVNULL,
                   env={**os.environ, "SPENDSYNC_BUCKET": "s3://" + where})


def truth_of_now(truth):
    number = ask(GENERATION.format(""))[0]["generation"]
    truth[int(number)] = {d["day"]: d["spend"] for d in ask(BY_DAY.format(""))}
    return int(number)


def main():
    truth = {}
    newest = truth_of_now(truth)
    subprocess.run([spendsync, "push", "s3://" + where], check=True, stdout=subprocess.DEVNULL)
    ctx = multiprocessing.get_context("spawn")
    stop, seen = ctx.Event(), ctx.Manager().Queue()
    readers = []
    for kind, (_, count) in KINDS.items():
        for _ in range(count):
            readers.append(ctx.Process(target=reader, args=(kind, len(readers), stop, seen)))
            readers[-1].start()
    for i in range(int(publications)):
        publish(103 if i % 2 == 0 else 98)
        newest = truth_of_now(truth)
    assert generation("current") == newest, "sync has left the last generation behind"
    stop.set()
    answers = []
    while any(r.is_alive() for r in readers) or not seen.empty():
        while not seen.empty():
            answers.append(seen.get())
        time.sleep(0.1)
    assert all(r.exitcode == 0 for r in readers), [r.exitcode for r in readers]
    judge(truth, newest, answers)


def judge(truth, newest, answers):
    counts, errors, last = {k: 0 for k in KINDS}, {}, {}
    for kind, n, before, ended, own, days in answers:
        if isinstance(days, str):
            errors.setdefault(kind, []).append(days)
            continue
        counts[kind] += 1
        if own is None:  # each day must be of the generation of the last finished push, or of a newer one
            for day, spend in days.items():
                known = [g for g in truth if g >= ended and truth[g].get(day) == spend]
                assert known, (kind, n, "pushed", ended, day, spend)
            assert set(truth[ended]) <= set(days), (kind, n, "days are missing", ended)
            continue
        assert days == truth[own], (kind, n, own, "is the answer of no single generation")
        if kind == "pull --watch":  # a follower never goes back to an older generation
            assert own >= last.get(n, 0), (kind, n, own, "after", last[n])
        else:
            assert own >= before, (kind, n, own, "is older than the pointer", before)
        last[n] = own
    print(f"{len(truth) - 1} publications, answers of one generation each: {counts}; repeated after an error: "
          f"{ {k: len(v) for k, v in errors.items()} }")
    for kind, texts in errors.items():
        # No reader may get a wrong answer. A reader that opens a file which is replaced under the same name may get an
        # error.
        assert kind != "pull --watch" and len(texts) <= counts[kind], (kind, len(texts), texts[:3])
    assert all(counts.values()), counts
    latest = {n: own for kind, n, _, _, own, days in answers if own is not None and not isinstance(days, str)}
    assert len(truth) < 3 or len({a[4] for a in answers if a[4]}) > 1, "the readers saw one generation only"
    print("the newest is", newest, "and the readers' last answers are of", sorted(latest.values()))


if __name__ == "__main__":
    main()
