"""Measures spendsync-lake beside the lakes that people would make by hand.

    python3 cmd/bench/peers/lake.py [--rows 300000] [--only NAME...]

A store of simulated spend is brought into an empty lake, again after three days were restated, and again with nothing
to do. The lake is an S3 (moto) and Iceberg's own REST catalog (.ci/interop/lake), behind a server that counts requests
and bytes. Each peer has its tables in a namespace of its own; the others keep spend_daily alone or all 16 tables, and
are told which days were restated. After each load DuckDB compares the rows with the store's. It needs Java 17 and Maven.
"""
import argparse
import collections
import http.client
import http.server
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from contextlib import closing

from peers import CACHE, HERE, LAUNCH, ROOT, Service, environment

JARS = os.path.join(CACHE, "lake-jars")


class Counter(http.server.ThreadingHTTPServer):
    """A server before another one, which counts what passes."""

    daemon_threads = True

    def __init__(self, port):
        self.counts, self.kinds, self.behind = collections.Counter(), collections.Counter(), port
        super().__init__(("127.0.0.1", 0), Passing)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def clear(self):
        self.counts.clear(), self.kinds.clear()

    def __str__(self):
        return f"{self.kinds.total()}: " + ", ".join(f"{n} {k}" for k, n in sorted(self.kinds.items()))


class Passing(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def body(self):
        if self.headers.get("Transfer-Encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def do(self):
        sent = self.body()
        headers = {k: v for k, v in self.headers.items() if k.lower() not in ("content-length", "transfer-encoding", "connection", "expect")}
        with closing(http.client.HTTPConnection("127.0.0.1", self.server.behind)) as connection:
            connection.request(self.command, self.path, sent or None, {**headers, "Content-Length": str(len(sent))})
            reply = connection.getresponse()
            got = reply.read()
        self.server.kinds["LIST" if "list-type=" in self.path else self.command] += 1
        self.server.counts.update(sent=len(sent), received=len(got))
        self.send_response(reply.status)
        for name, value in reply.getheaders():
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                self.send_header(name, value)
        self.send_header("Content-Length", reply.getheader("Content-Length", "0") if self.command == "HEAD" else str(len(got)))
        self.end_headers()
        self.wfile.write(got)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = do

    def log_message(self, *_):
        pass


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def serve(command, port, path):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}{path}").close()
            return process
        except OSError:
            time.sleep(0.2)
    raise SystemExit(f"{command[0]} does not answer")


def start_lake(python, work):
    """The processes, and the counting servers before the storage and the catalog."""
    if not os.path.exists(JARS + "/.whole"):
        subprocess.run(["mvn", "-q", "-B", "-f", ROOT + "/.ci/interop/lake/pom.xml", "dependency:copy-dependencies", "-DoutputDirectory=" + JARS], check=True)
        open(JARS + "/.whole", "w").close()
    classpath = ":".join(os.path.join(JARS, f) for f in os.listdir(JARS) if f.endswith(".jar") and not f.startswith("iceberg-spark-runtime"))
    storage, catalog = free_port(), free_port()
    processes = [serve([os.path.join(os.path.dirname(python), "moto_server"), "-H", "127.0.0.1", "-p", str(storage)], storage, "/moto-api/")]
    urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{storage}/lake", method="PUT")).close()
    subprocess.run(["javac", "-cp", classpath, "-d", work, ROOT + "/.ci/interop/lake/Catalog.java"], check=True)
    os.environ |= {"AWS_ACCESS_KEY_ID": "lake", "AWS_SECRET_ACCESS_KEY": "lake", "AWS_REGION": "us-east-1"}
    processes.append(serve(["java", "-cp", work + ":" + classpath, "Catalog", str(catalog), work + "/catalog.db", "s3://lake/warehouse",
                            "io-impl=org.apache.iceberg.aws.s3.S3FileIO", f"s3.endpoint=http://127.0.0.1:{storage}", "s3.path-style-access=true"], catalog, "/v1/config"))
    return processes, Counter(storage), Counter(catalog)


# What the DuckDB file calls the tables of the lake.
TABLES = {n: n for n in ("spend_daily", "spend_change", "spend_intraday", "campaign_history", "campaign_delivery_history", "creative_history",
                         "source_rule_history", "source_mode_history", "account_snapshot", "account_limit", "payout_history", "calendar")} | {
    "ops_day_coverage": "ops.day_coverage", "ops_run": "ops.run", "mart_campaign_day": "mart.campaign_day", "mart_source_30d": "mart.source_performance"}
ONE = ["spend_daily"]

PEERS = {
    "spendsync-lake, 17 tables": dict(namespace="spendsync", tables=()),
    "pyiceberg, overwrite by partition": dict(script="lake_pyiceberg.py", namespace="by_hand", tables=ONE),
    "pyiceberg, 16 tables": dict(script="lake_pyiceberg.py", namespace="by_hand_all", tables=TABLES),
    "Spark, MERGE by key": dict(script="lake_spark.py", namespace="spark", tables=ONE),
    "DuckDB's Iceberg writer": dict(script="lake_duckdb.py", namespace="duck", tables=ONE),
    "DuckDB's Iceberg writer, 16 tables": dict(script="lake_duckdb.py", namespace="duck_all", tables=TABLES),
}


def compared(python, env, namespace):
    """The rows of spend_daily that one side alone has, read by pyiceberg."""
    code = """
import os, duckdb
from pyiceberg.catalog import load_catalog
at = os.environ
got = load_catalog("lake", type="rest", uri=at["CATALOG"], warehouse="lake", **{"s3.endpoint": at["STORAGE"], "s3.access-key-id": "lake",
    "s3.secret-access-key": "lake", "s3.region": "us-east-1"}).load_table(at["NAMESPACE"] + ".spend_daily").scan().to_arrow()
con = duckdb.connect(at["DUCKDB"], read_only=True)
con.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
con.register("got", got)
columns = "account_id, report_date, campaign_id, creative_id, source_id, spend, clicks, impressions, conversions"
print(sum(con.execute(f"SELECT count(*) FROM (SELECT {columns} FROM {a} EXCEPT ALL SELECT {columns} FROM {b})").fetchone()[0]
          for a, b in (("got", "spend_daily"), ("spend_daily", "got"))))
"""
    return int(subprocess.run([python, "-c", code], env={**env, "NAMESPACE": namespace}, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--only", nargs="*", default=[], help="peers whose name begins so")
    options = parser.parse_args()
    python = environment(ROOT + "/.ci/interop/lake")
    peers = {n: p for n, p in PEERS.items() if not options.only or n.startswith(tuple(options.only))}
    with tempfile.TemporaryDirectory() as work:
        subprocess.run(["go", "build", "-o", work, "./cmd/spendsync", "./cmd/spendsync-lake", "./cmd/adsim"], cwd=ROOT, check=True)
        processes, storage, catalog = start_lake(python, work)
        try:
            with closing(Service(work, options.rows)) as service:
                measure(peers, service, work, python, storage, catalog)
        finally:
            for process in processes:
                process.terminate()


def measure(peers, service, work, python, storage, catalog):
    data = work + "/data"
    env = {**os.environ, **service.variables, "SPENDSYNC_DATA_DIR": data, "SPENDSYNC_LOG_LEVEL": "error", "SPENDSYNC_REREAD_AFTER": "0s",
           "SPENDSYNC_LAKE_CATALOG": catalog.url, "SPENDSYNC_LAKE_WAREHOUSE": "lake", "SPENDSYNC_LAKE_S3_ENDPOINT": storage.url,
           "CATALOG": catalog.url, "STORAGE": storage.url, "LAKE_JARS": JARS, "DUCKDB": data + "/warehouse.duckdb"}
    days = service.days[-4:-1]
    print(f"| {service.rows:,} rows | load | CPU s | peak MiB | requests to the catalog | to the storage | MB sent | MB received | objects written | rows |\n|" + "---|" * 10)
    for load, restated in (("first", []), ("three days restated", days), ("nothing to do", [])):
        if load != "nothing to do":
            for day in restated:
                service.order("POST", "restate", {"day": day, "kind": "multiply", "percent": 150})
            service.warm()
            subprocess.run([work + "/spendsync", "sync"], env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for name, peer in peers.items():
            command = [python, os.path.join(HERE, peer["script"])] if "script" in peer else [work + "/spendsync-lake", "follow"]
            storage.clear(), catalog.clear()
            with open(work + "/log", "w") as log:
                told = {"DAYS": " ".join(restated), "NAMESPACE": peer["namespace"], "TABLES": " ".join(f"{n}={TABLES[n]}" for n in peer["tables"])}
                used = subprocess.run([sys.executable, "-c", LAUNCH, *command], env={**env, **told}, stdout=subprocess.PIPE,
                                      stderr=log, text=True, check=True)
            code, cpu, _, peak = json.loads(used.stdout)
            if code:
                sys.stderr.write(open(work + "/log").read()[-4000:])
            s, c, asked, stored, puts = storage.counts.copy(), catalog.counts.copy(), str(catalog), str(storage), storage.kinds["PUT"]
            wrong = compared(python, env, peer["namespace"]) if code == 0 else None
            print(f"| {name} | {load} | {cpu:.1f} | {peak:.0f} | {asked} | {stored} | {(s['sent'] + c['sent']) / 1e6:.1f} "
                  f"| {(s['received'] + c['received']) / 1e6:.1f} | {puts} | {'all right' if wrong == 0 else f'exit {code}' if code else f'{wrong} differ'} |", flush=True)


if __name__ == "__main__":
    main()
