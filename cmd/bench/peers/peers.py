"""Measures spendsync beside the tools that people would pick, on the same served pages.

    python3 cmd/bench/peers/peers.py [--rows 300000] [--campaigns 10] [--turns 3] [--only NAME...] [--faults]

It builds spendsync and the simulated service, installs each peer's packages into an
environment of its own (XDG_CACHE_HOME/spendsync-peers), and lets every peer load the
window of the report into an empty folder, again with nothing changed, and again after 1 %
of the rows of every day, scattered by source, were restated. After each load the rows are
compared with what the service really holds. CPU is that of the process and of all that it
started; memory that of the largest of them. With --faults it tells instead what each
stored, and how it ended, where the service fails in one of eight ways.

Every peer gets the variables REPORT, REPORT_USER, REPORT_PASSWORD, FROM, TO, COLUMNS and
OUT, the folder for all that it keeps.
"""
import argparse
import base64
import hashlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from contextlib import closing

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "spendsync-peers")
COLUMNS = "date,campaign_id,campaign_name,creative_id,source_id,total_spend,clicks,impressions,conversions"
DAYS = 33

# Each peer: its script or command, its packages, whether it asks by day, the table that it fills.
PEERS = {
    "spendsync": dict(packages=None, by_day=True, table="spend_daily", database="warehouse.duckdb", date="report_date", spend="spend"),
    "script (requests, read_json)": dict(script="script.py", packages="hand"),
    "by hand (aiohttp, pyarrow)": dict(script="by_day.py", packages="hand", by_day=True),
    "dlt, Arrow": dict(script="dlt_arrow.py", packages="dlt", table="ads.spend"),
    "dlt, rest_api": dict(script="dlt_rest.py", packages="dlt", table="ads.spend"),
    "PyAirbyte": dict(script="py_airbyte.py", packages="airbyte", table="main.spend"),
    "Singer (SDK, target-duckdb)": dict(script="singer_tap.py", packages="singer", table="ads.spend"),
}


def environment(name):
    """The Python that has the packages of a requirements file, in this folder or by its whole path."""
    wanted = os.path.join(HERE, name + ".txt")
    venv = os.path.join(CACHE, f"{os.path.basename(name)}-{hashlib.sha256(open(wanted, 'rb').read()).hexdigest()[:16]}")
    if not os.path.exists(venv + "/.whole"):
        shutil.rmtree(venv, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([venv + "/bin/pip", "install", "-q", "--disable-pip-version-check", "-r", wanted], check=True)
        open(venv + "/.whole", "w").close()
    return venv + "/bin/python"


class Service:
    """The simulated service, whose clock stands; pages are asked for once before they are measured."""

    def __init__(self, work, rows, campaigns=10):
        self.process = subprocess.Popen(
            [work + "/adsim", "-addr", "127.0.0.1:0", "-accounts", "2", "-frozen", "-freeze-restatements", "-rate-limit", "-1",
             "-campaigns", str(campaigns), "-creatives", "10", "-rows-per-day", str(rows // DAYS), "-sources", str(max(200, rows // DAYS // 2))],
            stdout=subprocess.PIPE, text=True)
        self.variables = {}
        while len(self.variables) < 5:
            if found := re.match(r"export (\w+)='?([^'\n]*)'?", self.process.stdout.readline()):
                self.variables[found[1]] = found[2]
        self.report = self.variables["SPENDSYNC_REPORT_URL"]
        self.control = self.report.removesuffix("/report") + "/_sim/"
        today = json.loads(self.order("GET", "clock"))["today"]
        day = time.strptime(today, "%Y-%m-%d")
        at = time.mktime((*day[:3], 12, 0, 0, 0, 0, -1))
        self.days = [time.strftime("%Y-%m-%d", time.localtime(at - 86400 * n)) for n in range(DAYS - 1, -1, -1)]
        self.rows = self.warm()

    def order(self, method, path, body=None):
        request = urllib.request.Request(self.control + path, None if body is None else json.dumps(body).encode(), method=method)
        with urllib.request.urlopen(request) as reply:
            return reply.read()

    def page(self, first, last, page, user=""):
        query = urllib.parse.urlencode(dict(start_date=first, end_date=last, columns=COLUMNS, include_creatives="true", page_size=10000, page=page))
        request = urllib.request.Request(f"{self.report}/ads/spend-report?{query}")
        name = self.variables["SPENDSYNC_REPORT_USER"].replace("@", user + "@", 1)
        request.add_header("Authorization", "Basic " + base64.b64encode(f"{name}:{self.variables['SPENDSYNC_REPORT_PASSWORD']}".encode()).decode())
        with urllib.request.urlopen(request) as reply:
            return reply.read()

    def warm(self):
        """Asks for every page that is going to be asked for, of the whole window and by day. Returns its rows."""
        rows = 0
        for first, last in [(self.days[0], self.days[-1]), *((d, d) for d in self.days)]:
            page, pages = 1, 1
            while page <= pages:
                pagination = json.loads(self.page(first, last, page))["pagination"]
                pages, page = pagination["total_pages"], page + 1
            rows = rows or pagination["total_rows"]
        return rows

    def restate(self):
        for day in self.days[:-1]:
            self.order("POST", "restate", {"day": day, "kind": "multiply", "percent": 150, "one_in": 100})
        self.warm()

    def truth(self):
        """Every row by its key, as the service really holds it."""
        lines = [json.loads(line) for line in self.order("GET", "truth").splitlines()]
        return {(r["date"], r["creative_id"], r["source_id"]): (r["spend"], r["clicks"], r["impressions"], r["conversions"]) for r in lines}

    def close(self):
        self.process.terminate()
        self.process.wait()


def run(name, peer, service, work, out):
    """One load: how it ended, CPU s, wall s, peak MiB."""
    os.makedirs(out, exist_ok=True)
    env = {**os.environ, "DO_NOT_TRACK": "1", "AIRBYTE_OFFLINE_MODE": "1", "RUNTIME__DLTHUB_TELEMETRY": "false", "HOME": work,
           "REPORT": service.report, "REPORT_USER": service.variables["SPENDSYNC_REPORT_USER"],
           "REPORT_PASSWORD": service.variables["SPENDSYNC_REPORT_PASSWORD"], "FROM": service.days[0], "TO": service.days[-1],
           "COLUMNS": COLUMNS, "OUT": out, **service.variables}
    if name == "spendsync":
        command = [work + "/spendsync", "sync"]
        env |= {"SPENDSYNC_DATA_DIR": out, "SPENDSYNC_LOG_LEVEL": "error", "SPENDSYNC_REREAD_AFTER": "0s"}
    else:
        command = [environment(peer["packages"]), os.path.join(HERE, peer["script"])]
    with open(out + ".log", "w") as log:
        used = subprocess.run([sys.executable, "-c", LAUNCH, *command], env=env, stdout=subprocess.PIPE, stderr=log, cwd=work,
                              text=True, check=True)
    code, cpu, wall, peak = json.loads(used.stdout)
    if code and "VERBOSE" in os.environ:
        sys.stderr.write(open(out + ".log").read()[-4000:])
    return code, cpu, wall, peak


# The system counts the memory of who starts a process as its first: so a small one does.
LAUNCH = """
import json, os, subprocess, sys, time
began = time.monotonic()
process = subprocess.Popen(sys.argv[1:], stdout=2)
_, status, used = os.wait4(process.pid, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, time.monotonic() - began, used.ru_maxrss / 1024]))
"""


def stored(name, peer, out):
    """The rows by their key, each as often as it is there, and the type of money."""
    import duckdb
    path = os.path.join(out, peer.get("database", "spend.duckdb"))
    table, date, spend = peer.get("table", "spend"), peer.get("date", "date"), peer.get("spend", "total_spend")
    if not os.path.exists(path):
        return {}, "none"
    with duckdb.connect(path, read_only=True, config={"python_enable_replacements": "false"}) as con:
        try:
            kind = con.execute(f"SELECT DISTINCT typeof({spend}) FROM {table}").fetchone()
        except duckdb.CatalogException:
            return {}, "none"
        rows = con.execute(f"SELECT left({date}::VARCHAR, 10), creative_id, replace(coalesce(source_id, ''), '-', ''), {spend}::DECIMAL(18, 6)::VARCHAR, clicks, impressions, conversions FROM {table}").fetchall()
    found = {}
    for day, creative, source, *numbers in rows:
        found.setdefault((day, creative, source), []).append(tuple(numbers))
    return found, kind[0] if kind else "none"


def compared(truth, found):
    """Rows that are missing, wrong, twice, and rows that the service does not have."""
    return {
        "missing": sum(k not in found for k in truth),
        "wrong": sum(k in truth and any(n != truth[k] for n in numbers) for k, numbers in found.items()),
        "twice": sum(len(numbers) - 1 for numbers in found.values()),
        "stale": sum(k not in truth for k in found),
    }


def said(counts):
    return ", ".join(f"{n:,} {word}" for word, n in counts.items() if n) or "all right"


def marked(name, out):
    """How spendsync names the days that it does not vouch for."""
    if name != "spendsync":
        return ""
    import duckdb
    with duckdb.connect(out + "/warehouse.duckdb", read_only=True) as con:
        days = con.execute("""SELECT CASE WHEN state = 'missing' THEN 'missing' ELSE 'total differs' END AS mark, count(*) FROM ops.day_coverage
            WHERE state = 'missing' OR control_total_state = 'differs' GROUP BY mark""").fetchall()
    return "".join(f"; {n} day marked: {mark}" for mark, n in days)


def measure(peers, work, options):
    """Each turn asks a service of its own: spendsync refuses one whose clock stands an hour behind."""
    loads = ("first load", "unchanged", "restated")
    figures = {name: {load: [] for load in loads} for name in peers}
    results = {}
    for turn in range(options.turns):
        with closing(Service(work, options.rows, options.campaigns)) as service:
            for load in loads:
                if load == "restated":
                    service.restate()
                truth = service.truth()
                for name, peer in peers.items():
                    out = f"{work}/{turn}-{name}"
                    status, *used = run(name, peer, service, work, out)
                    figures[name][load].append(used)
                    found, kind = stored(name, peer, out)
                    results[name, load] = (status, said(compared(truth, found)), kind)
                    print(f"turn {turn + 1}, {name}, {load}: exit {status}, CPU {used[0]:.2f} s, {said(compared(truth, found))}", file=sys.stderr, flush=True)
        for name in peers:
            shutil.rmtree(f"{work}/{turn}-{name}", ignore_errors=True)
    print(f"| {len(truth):,} rows, medians of {options.turns} | " + " | ".join(f"{load}: CPU s (wall s)" for load in loads) + " | peak MiB | rows | money |")
    print("|---|" + "---|" * (len(loads) + 3))
    for name in peers:
        cells = [[statistics.median(f[i] for f in figures[name][load]) for i in range(3)] for load in loads]
        right = {results[name, load][1] if results[name, load][0] == 0 else f"exit {results[name, load][0]}" for load in loads}
        print(f"| {name} | " + " | ".join(f"{c:.1f} ({w:.1f})" for c, w, _ in cells) +
              f" | {max(m for _, _, m in cells):.0f} | {'; '.join(sorted(right))} | {results[name, 'first load'][2]} |")


def faults(service, day, by_day):
    """The eight: what the service does, on the page of a client that asks by day, and else on its second page."""
    stranger = service.page(day, day, 1, user="2").decode()
    return {
        "a page ends early, and says so": dict(kind="truncate", rows=100),
        "rows missing, the total stays": dict(kind="drop", row=10, rows=50),
        "a key twice, other numbers": dict(kind="duplicate", row=5, rows=1, other=True),
        "rows that vanish later": None,
        "a 500, once": dict(kind="status", status=500, times=1),
        "half a body, once": dict(kind="cut", times=1),
        "a page of another account": dict(kind="body", value=stranger),
        "a total that is too small": dict(kind="total", page=0, delta=-1000 if by_day else -service.rows // 2),
    }


def suffer(peers, service, work):
    day = service.days[-6]
    truth = service.truth()
    print("| | " + " | ".join(peers) + " |\n|---|" + "---|" * len(peers))
    for title in faults(service, day, True):
        cells = []
        for name, peer in peers.items():
            fault = faults(service, day, peer.get("by_day"))[title]
            out = f"{work}/fault-{name}"
            shutil.rmtree(out, ignore_errors=True)
            now = truth
            if fault is None:
                run(name, peer, service, work, out)
                for _ in range(20):
                    service.order("POST", "restate", {"day": day, "kind": "delete", "row": 0})
                now = service.truth()
            else:
                where = {"day": day, "page": 1, "query": "include_creatives=true"} if peer.get("by_day") else {"page": 2}
                service.order("POST", "fault", {"path": "/ads/spend-report", **where, **fault})
            status, *_ = run(name, peer, service, work, out)
            service.order("DELETE", "fault")
            if fault is None:
                service.order("POST", "restate", {"day": day, "kind": "restore"})
            found, _ = stored(name, peer, out)
            outcome = "nothing stored" if not found else said(compared(now, found)) + marked(name, out)
            cells.append(f"exit {status}: {outcome}")
            print(f"{title}, {name}: {cells[-1]}", file=sys.stderr, flush=True)
        print(f"| {title} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--campaigns", type=int, default=10, help="of ten creatives each")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[], help="peers whose name begins so")
    parser.add_argument("--faults", action="store_true")
    options = parser.parse_args()
    if not os.environ.get("SPENDSYNC_PEERS"):  # once more, with DuckDB
        python = environment("hand")
        os.execve(python, [python, __file__, *sys.argv[1:]], {**os.environ, "SPENDSYNC_PEERS": "1"})
    peers = {n: p for n, p in PEERS.items() if not options.only or n.startswith(tuple(options.only))}
    for peer in peers.values():
        if peer["packages"]:
            environment(peer["packages"])
    with tempfile.TemporaryDirectory() as work:
        subprocess.run(["go", "build", "-o", work, "./cmd/spendsync", "./cmd/adsim"], cwd=ROOT, check=True)
        if options.faults:
            with closing(Service(work, options.rows, options.campaigns)) as service:
                suffer(peers, service, work)
        else:
            measure(peers, work, options)


if __name__ == "__main__":
    main()
