"""Runs spendsync for many simulated days against a service that was written from service-interfaces.md alone.

    life.py [--days 60] [--seed 1] [--runs 5] [--habit NAME=VALUE]... SPENDSYNC_TEST

SPENDSYNC_TEST is the test binary of cmd/spendsync, which is spendsync with a clock that can be set. After each run all
stored rows are compared with the service's truth, one by one. It ends with 1 if a row differs, if a day is lost that
the service still had, or if more than 2 runs in 100, of a short life more than one, fail without a cause that somebody
can mend.
"""
import argparse
import ast
import collections
import os
import random
import subprocess
import sys
import tempfile
import time
from datetime import date, datetime, timedelta

import duckdb

import service
from world import CHICAGO, MICRO, UTC, World, day_of

KEYS = {"campaign": "campaign_id", "creative": "creative_id"}


class Life:
    def __init__(self, args):
        self.args = args
        fixed = {k: ast.literal_eval(v) for k, v in (h.split("=", 1) for h in args.habit)}
        rng = self.rng = random.Random(f"life {args.seed}")
        start = rng.choice([datetime(2026, 9, 20, 11, tzinfo=UTC), datetime(2026, 2, 1, 12, tzinfo=UTC),
                            datetime(2026, 6, 3, 13, tzinfo=UTC)])
        habits = service.draw(args.seed, **fixed)
        if start.month == 2 and "no_pagination_before" not in fixed:  # pagination came in April 2026
            habits["no_pagination_before"] = start + timedelta(days=args.days * 2 // 3)
        self.habits, self.start = habits, start
        self.world = World(args.seed, start, habits)
        self.service = service.Service(self.world, habits, args.seed, faults=not args.no_faults)
        # Without pagination there is no page size either. Ask for pages larger than a day, which show where it ends.
        self.page_size = rng.choice([1000, 10000] if habits["no_pagination_before"] else [60, 100, 1000, 10000])
        self.dir = args.keep
        self.accepted = {}  # day -> the contents that its stored rows may have
        self.fresh = {}  # day -> start of the last run after which its stored rows were right
        self.bids = {}  # campaign -> its stored overrides, while they cannot be read
        self.gone = {}  # deleted entity -> runs at exit 0 since
        self.versions = collections.defaultdict(list)
        self.exits = collections.Counter()
        self.counts = collections.Counter()
        self.unexplained, self.differences = [], []

    def live(self):
        plan, rng = [], self.rng
        for n in range(self.args.days):
            midnight = (self.start + timedelta(days=n)).astimezone(CHICAGO).replace(hour=0, minute=0, second=0)
            for _ in range(self.args.runs):
                plan.append((midnight + timedelta(minutes=rng.randrange(1, 1400), seconds=rng.randrange(60)), n))
            if rng.random() < 0.2:  # midnight passes during the run
                plan.append((midnight + timedelta(hours=23, minutes=59, seconds=58), n))
        outage = {self.args.days // 3: "503", self.args.days * 4 // 5: "no reply"}
        idle = range(self.args.days // 2, self.args.days // 2 + 2)  # the scheduler was down
        if self.args.days < 10:
            outage, idle = {1: "503"}, []
        broken = {n: rng.choice(["/ads-api/v1/balance", "/ads-api/v1/campaigns", "/reporting", "/ads-api/v1/me"])
                  for n in rng.sample(range(self.args.days), self.args.days // 15)}
        for number, (at, n) in enumerate(sorted(plan)):
            if at < self.world.now or n in idle:
                continue
            self.world.advance(at.astimezone(UTC))
            if n == self.args.days * 2 // 3:
                self.world.key_expires = at + timedelta(days=300)  # renewed on the dashboard
            self.service.down, self.service.broken = outage.get(n), broken.get(n) if number % 4 == 0 else None
            self.one_run(number)
        return self.report()

    # One run.

    def one_run(self, number):
        w, s = self.world, self.service
        today = day_of(w.now)
        reach = [today - timedelta(days=i) for i in range(33, -2, -1)]
        s.begin(number)
        w.watch(reach)
        began, real = w.now, time.monotonic()
        p = self.spendsync("sync")
        with s.lock:
            days, settings = w.unwatch()
            requests, faults = list(s.requests), list(s.faults)
        cause = s.down or s.broken
        self.exits[p.returncode] += 1
        self.counts["runs"] += 1
        self.counts["faults"] += len(faults)
        self.counts["requests"] += len(requests)
        if p.returncode and not cause:
            self.unexplained.append(number)
            print(f"run {number} at {began:%F %T}: exit {p.returncode} without a cause\n  faults: {faults}\n"
                  + "".join("  | " + line + "\n" for line in p.stderr.strip().splitlines()[-12:]))
        before = len(self.differences)
        self.compare(number, p.returncode, began, today, days, settings, requests)
        if self.args.verbose:
            print(f"run {number} {began:%F %T} exit {p.returncode} {len(requests)} requests {len(faults)} faults "
                  f"{cause or ''} {time.monotonic() - real:.1f} s", flush=True)
        for d in self.differences[before:][:8]:
            print(f"run {number} at {began:%F %T}, exit {p.returncode}: {d}", flush=True)

    def declared(self):
        """The service file: the operator's declarations of how the service differs from its description."""
        lines = []
        if self.habits["clicks"] != "given":
            lines.append("report.columns: [date, campaign_id, creative_id, source_id, total_spend, impressions, conversions]")
        if self.habits["total"] != "exact":
            lines.append("report.total_rows: with_spend")
        return "\n".join(lines)

    def spendsync(self, *command):
        env = {k: v for k, v in os.environ.items() if not k.startswith("SPENDSYNC_")}
        base = f"http://127.0.0.1:{self.service.port}"
        calm = not (self.service.down or self.service.broken)
        env |= {"TEST_PROCESS": "spendsync", "TEST_NOW": self.world.now.isoformat(),
                "SPENDSYNC_ADVERTISER_URL": base + service.BASE, "SPENDSYNC_API_KEY": service.KEY,
                "SPENDSYNC_REPORT_URL": base + service.REPORT, "SPENDSYNC_REPORT_USER": service.USER,
                "SPENDSYNC_REPORT_PASSWORD": service.PASSWORD, "SPENDSYNC_DATA_DIR": self.dir + "/data",
                "SPENDSYNC_PAGE_SIZE": str(self.page_size), "SPENDSYNC_REQUESTS_PER_MINUTE": "120",
                "SPENDSYNC_RETRY_BUDGET": "10m" if calm else "2s",
                "SPENDSYNC_LOG_FORMAT": "text", "SPENDSYNC_LOG_LEVEL": "warn"}
        if lines := self.declared():
            os.makedirs(self.dir, exist_ok=True)
            with open(self.dir + "/service.yaml", "w") as file:
                file.write(lines)
            env["SPENDSYNC_SERVICE_FILE"] = self.dir + "/service.yaml"
        return subprocess.run([self.args.spendsync, *command], env=env, text=True, capture_output=True)

    # Comparing the store with the truth.

    def differ(self, text, code):
        self.differences.append(text)
        self.counts["differences at exit 0" if code == 0 else "differences at other exits"] += 1

    def compare(self, number, code, began, today, days, settings, requests):
        path = self.dir + "/data/warehouse.duckdb"
        if not os.path.exists(path):
            return
        with duckdb.connect(path, read_only=True) as db:
            db.execute("SET TimeZone = 'UTC'")
            self.compare_days(db, code, began, today, days, requests)
            self.compare_settings(db, code, settings)
            if code == 0 and self.service.last_balance is not None:
                stored = db.execute("SELECT (balance * 1000000)::BIGINT FROM account").fetchall()
                if stored != [(self.service.last_balance,)]:
                    self.differ(f"balance {stored}, shown was {self.service.last_balance}", code)

    def compare_days(self, db, code, began, today, days, requests):
        stored = collections.defaultdict(dict)
        names = collections.defaultdict(set)
        self.spent = {}  # the last stored day on which a campaign or a creative has spend
        for d, c, k, s, spend, clicks, impressions, conversions, name in db.execute(
                "SELECT report_date, campaign_id, creative_id, source_id, (spend * 1000000)::BIGINT, clicks, "
                "impressions, conversions, campaign_name FROM spend_daily").fetchall():
            if (c, k, s) in stored[d]:
                self.differ(f"{d} has {c} {k} {s} twice", code)
            stored[d][c, k, s] = (spend, clicks, impressions, conversions)
            names[c].add(name)
            for i in (c, k) if spend > 0 else ():
                self.spent[i] = max(d, self.spent.get(i, d))
        for c, known in names.items():
            if c not in self.world.campaigns or known - self.world.campaigns[c].names:
                self.differ(f"campaign {c} is called {known}", code)
        covered = dict(db.execute("SELECT report_date, state FROM ops.day_coverage").fetchall())
        asked = {d for d in map(self.day_asked, requests) if d and self.readable(d, today)}
        moving = {today, day_of(self.world.now)}
        for d, versions in days.items():
            rows, is_covered = stored.get(d, {}), covered.get(d) in ("open", "complete", "final")
            had = self.accepted.get(d, [])
            if d in moving:
                if not is_covered:
                    if code == 0 and d == today:
                        self.differ(f"{d}, which goes on, is {covered.get(d)}", code)
                    continue
                if d in asked:
                    self.accepted[d] = [rows]
                    fault = self.outside(rows, versions[0], versions[-1])
                    if fault and code and any(self.same(rows, v) for v in had):
                        fault = None
                elif had and not any(self.same(rows, v) for v in had):
                    fault = "changed without being read"
                if fault if d in asked else had and not any(self.same(rows, v) for v in had):
                    self.differ(f"{d}, which goes on: {fault}", code)
                self.counts["rows"] += len(rows)
                continue
            accepted = versions if d in asked and code == 0 else had + versions if d in asked else had
            if not is_covered:
                if code == 0 and d < today and self.readable(d, today):
                    self.differ(f"{d} is {covered.get(d)}", code)
                continue
            if not accepted:  # stored, although no request of the runs was for this day
                self.differ(f"{d} is stored without having been asked for", code)
                continue
            self.counts["rows"] += len(rows)
            match = [v for v in accepted if self.same(rows, v)]
            if not match:
                self.differ(f"{d}: {self.first_difference(rows, accepted[-1])}", code)
                match = [rows]
            elif d in asked and any(v is m for m in match for v in versions):
                self.fresh[d] = began
            self.accepted[d] = match[-1:]
            if code == 0 and self.readable(d, today) and \
                    began - self.fresh.get(d, began) > timedelta(hours=48):
                self.differ(f"{d} was last read at {self.fresh[d]}", code)
        for d, rows in stored.items():
            if d not in days and d in self.accepted and not any(self.same(rows, v) for v in self.accepted[d]):
                self.differ(f"{d}, out of reach: {self.first_difference(rows, self.accepted[d][-1])}", code)
        for d, state in covered.items():
            if state == "lost" and d > day_of(self.start) - timedelta(days=self.habits["reach"]):
                self.differ(f"{d} is lost", code)

    def readable(self, day, today):
        return day >= today - timedelta(days=self.habits["reach"])

    def day_asked(self, line):
        """The day whose rows a request asked for, if it did."""
        if service.REPORT not in line:
            return None
        q = dict(ast.literal_eval(line.split("?", 1)[1]))
        if q.get("start_date") != q.get("end_date") or "source_id" not in q.get("columns", ""):
            return None
        return date.fromisoformat(q["start_date"])

    def same(self, rows, truth):
        return rows.keys() == truth.keys() and all(self.like(k, rows[k], truth[k]) for k in rows)

    def like(self, key, stored, true):
        for i, (a, b) in enumerate(zip(stored, true)):
            if i == 1 and self.habits["clicks"] != "given":
                b = None
            if i > 0 and a is None and key[2] == "" and self.habits["zero_numbers"] == "null":
                continue
            if a != b:
                return False
        return True

    def first_difference(self, rows, truth):
        for k in sorted(rows.keys() | truth.keys()):
            if k not in rows:
                return f"{len(rows)} of {len(truth)} rows, without {k} {truth[k]}"
            if k not in truth:
                return f"{len(rows)} rows for {len(truth)}, {k} {rows[k]} is none of the service's"
            if not self.like(k, rows[k], truth[k]):
                return f"{k} is stored as {rows[k]} and is {truth[k]}"

    def outside(self, rows, first, last):
        """Describes a row of a growing day that was never true, if there is one."""
        for k, v in rows.items():
            if k not in first and k not in last:
                return f"{k} {v} is none of the service's"
            low, high = first.get(k, [0, 0, 0, 0]), last.get(k, v)
            for i in range(4):
                if i == 1 and self.habits["clicks"] != "given" or v[i] is None and k[2] == "":
                    continue
                if v[i] is None or not min(low[i], high[i]) <= v[i] <= max(low[i], high[i]):
                    return f"{k} is stored as {v} and went from {low} to {high}"
        for k, v in first.items():
            if k not in rows and k in last:
                return f"{len(rows)} rows for {len(first)} to {len(last)}, without {k} {v}"

    def compare_settings(self, db, code, snapshots):
        # A field whose key is missing in all entities may be unset or renamed. The stored value must stay, and the run
        # must name it.
        self.unread = {tuple(r) for r in db.execute(
            "SELECT entity_type, entity_id, field FROM ops.entity_read WHERE read_state IN ('unreadable', 'missing') "
            "AND _run_id = (SELECT max(_run_id) FROM ops.run)").fetchall()}
        for table, key in KEYS.items():
            columns = list(next(iter(snapshots[0][table].values())))
            stored = {r[0]: dict(zip(columns, r[2:])) for r in db.execute(
                f"SELECT {key}, change_type, {', '.join(columns)} FROM {table}_history "
                "WHERE is_current AND NOT is_deleted AND read_state <> 'stub'").fetchall()}
            stored = {i: self.plain(v) for i, v in stored.items()}
            for i, v in stored.items():
                if not self.versions[table, i] or self.versions[table, i][-1] != v:
                    self.versions[table, i].append(v)
            if code == 0:
                self.compare_entities(table, stored, [s[table] for s in snapshots], code)
        if code == 0:
            rules = {tuple(r[:3]): None if r[3] is None else int(r[3] * MICRO) for r in db.execute(
                "SELECT campaign_id, source_id, rule, bid FROM source_rule_history "
                "WHERE is_current AND NOT is_deleted").fetchall()}
            unread = {c.id for c in self.world.campaigns.values() if c.bids_unreadable}
            rules = {k: v for k, v in rules.items() if k[2] != "bid_override" or k[0] not in unread}
            truths = [{k: v for k, v in s["source_rule"].items() if k[2] != "bid_override" or k[0] not in unread}
                      for s in snapshots]
            self.compare_entities("source rule", rules, truths, code)

    def plain(self, row):
        for k, v in row.items():
            if k in ("default_bid", "daily_spend_limit", "target_cpa") and v is not None:
                row[k] = int(v * MICRO)
        return row

    def compare_entities(self, table, stored, truths, code):
        self.counts["settings"] += len(stored)
        for i in stored.keys() | truths[0].keys() | truths[-1].keys():
            possible = [t.get(i) if i in t else "none" for t in truths]
            got = stored.get(i, "none") if i in stored else "none"
            if got in possible:
                self.gone.pop((table, i), None)
                continue
            if all(p == "none" for p in possible):
                # Two listings without an entity prove that it is deleted, if neither the entity nor its campaign has
                # spend since yesterday. The service may deliver for some time after it stops listing an entity.
                campaign = i[0] if isinstance(i, tuple) else got.get("campaign_id")
                spent = max(self.spent.get(k, date.min) for k in (i, campaign))
                if spent >= day_of(self.world.now) - timedelta(1):
                    continue
                self.gone[table, i] = self.gone.get((table, i), 0) + 1
                if self.gone[table, i] <= 2:
                    continue
            if isinstance(got, dict) and isinstance(possible[-1], dict):
                # An entity may have changed during the run. If a stored value differs from all its values during the
                # run, the run must name the field as unread.
                others = [[k for k in got if got[k] != p[k]] for p in possible if isinstance(p, dict)]
                other = min(others, key=lambda o: sum((table, i, k) not in self.unread for k in o))
                if all((table, i, k) in self.unread for k in other):
                    self.counts["named as unread"] += len(other)
                    continue
                got, possible = zip(*[((k, got[k]), (k, possible[-1][k])) for k in other])
            else:
                possible = possible[-1]
            self.differ(f"{table} {i} is stored as {got} and is {possible}", code)

    # The end.

    def history(self):
        """Histories contain every version that was seen; each restatement starts at the result of the last one."""
        with duckdb.connect(self.dir + "/data/warehouse.duckdb", read_only=True) as db:
            db.execute("SET TimeZone = 'UTC'")
            for table, key in KEYS.items():
                columns = list(next(iter(self.world.settings()[table].values())))
                chain = collections.defaultdict(list)
                for r in db.execute(f"SELECT {key}, {', '.join(columns)} FROM {table}_history WHERE NOT is_deleted "
                                    f"AND read_state <> 'stub' ORDER BY {key}, version_no").fetchall():
                    v = self.plain(dict(zip(columns, r[1:])))
                    if not chain[r[0]] or chain[r[0]][-1] != v:
                        chain[r[0]].append(v)
                for i in chain:
                    self.counts["versions"] += len(chain[i])
                    if chain[i] != self.versions[table, i]:
                        self.differ(f"{table} {i} has {len(chain[i])} versions, seen were "
                                    f"{len(self.versions[table, i])}", 0)
            last = {}
            for *key, op, old, new, n_old, n_new in db.execute(
                    "SELECT report_date, campaign_id, creative_id, source_id, op, old_spend, new_spend, "
                    "old_conversions, new_conversions FROM spend_change ORDER BY seen_at").fetchall():
                key = tuple(key)
                self.counts["restatements"] += 1
                if key in last and last[key] != (old, n_old):
                    self.differ(f"{key} changed from {(old, n_old)}, after it had become {last[key]}", 0)
                last[key] = (new, n_new)
            now = {tuple(r[:4]): tuple(r[4:]) for r in db.execute(
                "SELECT report_date, campaign_id, creative_id, source_id, spend, conversions FROM spend_daily"
            ).fetchall()}
            for key, value in last.items():
                if now.get(key, (None, None)) != value:
                    self.differ(f"{key} is {now.get(key)}, and last became {value}", 0)

    def report(self):
        before = len(self.differences)
        self.history()
        p = self.spendsync("verify")
        if p.returncode:
            self.differ("verify: " + p.stderr, 0)
        for d in self.differences[before:][:8]:
            print("at the end: " + d)
        self.service.stop()
        n = self.counts["runs"]
        print(f"seed {self.args.seed}, {self.args.days} days from {self.start:%F}, page size {self.page_size}")
        print("habits: " + ", ".join(f"{k}={v!r}" for k, v in self.habits.items()))
        print(f"{n} runs, exits {dict(self.exits)}; {len(self.unexplained)} failed without a cause that can be mended")
        print(", ".join(f"{k}: {v}" for k, v in sorted(self.counts.items())))
        failed = self.counts["differences at exit 0"] or self.counts["differences at other exits"] or \
            len(self.unexplained) > max(1, n // 50)
        print("FAILED" if failed else "ok", flush=True)
        return 1 if failed else 0


def main():
    p = argparse.ArgumentParser()
    p.add_argument("spendsync")
    p.add_argument("--days", type=int, default=60)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--runs", type=int, default=5, help="a day")
    p.add_argument("--habit", action="append", default=[], help="NAME=VALUE, a Python literal")
    p.add_argument("--no-faults", action="store_true")
    p.add_argument("--keep", help="folder of the store")
    p.add_argument("--verbose", action="store_true")
    args = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="life-") as scratch:
        args.keep = args.keep or scratch
        sys.exit(Life(args).live())


main()
