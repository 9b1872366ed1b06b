"""The service of service-interfaces.md, as somebody might build it who has never seen spendsync.

Where the description leaves a choice open ("not shown"), a habit decides, which is drawn by seed. Faults are temporary
and replace or damage an honest reply.
"""
import base64
import gzip
import hashlib
import json
import math
import random
import re
import socket
import threading
import time
from datetime import date, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote, urlsplit

from world import CHICAGO, MICRO, UTC, day_of

KEY, USER, PASSWORD = "life_5f3a9c", "owner@shop.example", "correct horse: battery"
BASE, REPORT = "/ads-api", "/reporting"

# The habits: the possible choices for each thing that the description does not show.
HABITS = {
    "list": ["data", "bare", "named", "items_total", "data_pagination", "results_count", "named_meta"],
    "object": ["bare", "data", "named"],
    "id": ["id", "typed", "both"],
    "summary": [False, True],  # a campaign in a list has fewer fields than the reply for a single campaign
    "instants": ["Z", "+00:00", ".000Z", "-05:00"],
    "absent": ["null", "left out"],
    "mode_key": ["source_targeting_mode", "targeting_mode", "source_mode"],
    "mode_values": [("block_list", "allow_list"), ("block", "allow"), ("blocklist", "allowlist")],
    "sources": ["ids", "lists", "by mode", "objects"],
    "overrides": ["list", "map"],
    "delivering": ["delivering", "active", "null"],
    "me": ["flat", "nested"],
    "limits": ["list", "map"],
    "balance": ["plain", "long"],
    "extra": [True, False],  # fields that the description does not name
    "report_error": ["error", "object", "message", "text"],
    "unknown_column": ["refused", "dropped"],
    "clicks": ["given", "given", "given", "refused", "dropped"],  # beside include_creatives
    "grouping": ["asked", "full"],
    "zero_rows": ["then", "now"],
    "zero_source": ["null", "empty", "left out"],
    "zero_numbers": ["zero", "null"],
    "order": ["key", "spend", "loose"],
    "page_beyond": ["empty", "refused", "last"],
    "floats": [False, True],
    "counts": ["int", "float"],
    "cents": [1, 100, 10_000],  # the unit that spend is rounded to, in micro-dollars
    "names": ["current", "current", "current", "then"],  # then: a renamed campaign has two rows that day
    "total": ["exact", "exact", "exact", "without zeros"],
    "reach": [32, 32, 31],
    "gzip": [True, False],
    "deletes": [True, False],
    "no_pagination_before": [None],
    "old_campaigns": [0],
}


def draw(seed, **fixed):
    rng = random.Random(f"habits {seed}")
    habits = {name: rng.choice(choices) for name, choices in HABITS.items()}
    return habits | fixed


class Refused(Exception):
    """A reply that is an error of the service's contract."""

    def __init__(self, status, code, message, **headers):
        self.status, self.code, self.message, self.headers = status, code, message, headers


DIMENSIONS = ["date", "campaign_id", "campaign_name", "creative_id", "creative_title", "creative_message",
              "creative_image_url", "creative_icon_url", "creative_status", "source_id"]
MEASURES = ["total_spend", "clicks", "impressions", "conversions", "ctr", "cpc", "cpa"]
PLAIN = ["date", "campaign_id", "campaign_name", "creative_id", "source_id", "total_spend"]
WITH_CREATIVES = DIMENSIONS + ["total_spend", "impressions", "conversions", "ctr", "cpc", "cpa"]
CAMPAIGN_STATUSES = ["active", "paused", "archived", "rejected"]
CREATIVE_STATUSES = ["active", "paused", "pending_review", "rejected", "draft", "archived"]


# Temporary errors (limits, timeouts) in the texts and with the statuses of other services.
STRANGE = {"400 timed out": (400, "Query timed out"), "400 limit": (400, "(#17) User request limit reached"),
           "403 limit": (403, "rateLimitExceeded")}


class Service:
    def __init__(self, world, habits, seed, faults=True):
        self.world, self.habits, self.seed, self.faulty = world, habits, seed, faults
        self.lock = threading.Lock()
        self.run = 0
        self.down = self.broken = None  # down: the outage of all requests; broken: the prefix of the paths that fail
        self.tries, self.faults, self.requests = {}, [], []
        self.server = None
        self.port = 0
        self.start()

    # Its process.

    def start(self):
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                try:
                    service.handle(self)
                except (BrokenPipeError, ConnectionError):
                    self.close_connection = True

            do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

            def log_message(self, *args):
                pass

            def setup(self):
                super().setup()
                self.server.open.add(self.connection)

            def finish(self):
                self.server.open.discard(self.connection)
                try:
                    super().finish()
                except OSError:
                    pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *args):
                pass

        for _ in range(100):
            try:
                self.server = Server(("127.0.0.1", self.port), Handler)
                break
            except OSError:  # the port of a process that has just ended
                time.sleep(0.1)
        self.server.open = set()
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        for c in list(self.server.open):
            try:
                c.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def restart(self):
        self.stop()
        time.sleep(0.5)
        self.start()

    def begin(self, run):
        with self.lock:
            self.run, self.tries, self.faults, self.requests, self.last_balance = run, {}, [], [], None

    # One request.

    def handle(self, h):
        length = int(h.headers.get("Content-Length") or 0)
        body = h.rfile.read(length)
        url = urlsplit(h.path)
        query = parse_qsl(url.query, keep_blank_values=True)
        line = f"{h.command} {url.path}?{sorted(query)}"
        with self.lock:
            n = self.tries[line] = self.tries.get(line, 0) + 1
            rng = random.Random(f"{self.seed}/{self.run}/{line}/{n}")
            self.requests.append(line)
            self.world.touch(rng)
            fault = self.fault(url.path, rng, n)
            if fault:
                self.faults.append(f"{fault} {line} #{n}")
            if fault == "restart":
                threading.Thread(target=self.restart, daemon=True).start()
                fault = "no reply"
            report = url.path.startswith(REPORT)
            headers = {}
            try:
                if fault in STRANGE:
                    status, message = STRANGE[fault]
                    raise Refused(status, "internal_error", message)
                if fault in ("500", "502", "503", "429"):
                    raise Refused(int(fault), "rate_limited" if fault == "429" else "internal_error",
                                  "Internal server error, request 8f2e", **self.wait(fault, rng))
                if fault == "200 limit":
                    status, out = 200, {"code": 40100, "message": "Too many requests"}
                elif fault == "200 page":
                    status, out = 200, "<html><head><title>Maintenance</title></head><body>Back soon</body></html>"
                elif report:
                    status, out = 200, self.report(h, url, dict(query), fault, rng)
                else:
                    status, out = 200, self.api(h, url, query, body)
            except Refused as e:
                status, headers = e.status, e.headers
                out = self.report_error(e) if report else {"error": {
                    "code": e.code, "message": e.message, "request_id": "req_%08x" % rng.getrandbits(32)}}
            if not report and status not in (401,):
                headers["Service-Api-Key-Expires-At"] = self.instant(self.world.key_expires)
                if (left := self.world.key_expires - self.world.now) < timedelta(days=14):
                    headers["Service-Api-Key-Expiry-Warning"] = f"expires in {left.days} days"
            now = self.world.now
        self.reply(h, status, out, headers, now, fault)

    def wait(self, fault, rng):
        return {"Retry-After": rng.choice(["0", "1"])} if fault == "429" or fault == "503" and rng.random() < .5 else {}

    def fault(self, path, rng, n):
        if self.down:
            return self.down
        if self.broken and path.startswith(self.broken):
            return "500"
        if not self.faulty or n > 3:
            return None
        x = rng.random() * (1 if n == 1 else 2)
        burst = random.Random(f"{self.seed}/{self.run}/burst").random() < 0.1
        if rng.random() < (0.15 if burst else 0.003):
            return rng.choice([*STRANGE, "200 limit", "200 page"])
        if x < 0.02:
            return rng.choice(["500", "502", "503", "429", "cut", "no reply", "slow"])
        if path.startswith(REPORT) and x < 0.026:
            return rng.choice(["wrong total", "empty", "rows missing"])
        if x > 1.998 or n == 1 and x > 0.9995:
            return "restart"
        return None

    def reply(self, h, status, out, headers, now, fault):
        if fault == "no reply":
            h.connection.close()
            h.close_connection = True
            return
        if fault == "502":
            out = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
        text = isinstance(out, str)
        data = (out if text else json.dumps(out)).encode()
        kind = "text/html" if text else "application/json"
        if self.habits["gzip"] and "gzip" in h.headers.get("Accept-Encoding", ""):
            data = gzip.compress(data, 1)
            headers["Content-Encoding"] = "gzip"
        h.send_response_only(status)
        headers |= {"Content-Type": kind, "Date": format_datetime(now.astimezone(UTC), usegmt=True)}
        for k, v in headers.items():
            h.send_header(k, v)
        h.send_header("Content-Length", str(len(data)))
        h.end_headers()
        if fault == "cut":
            h.wfile.write(data[:len(data) * 2 // 3])
            h.wfile.flush()
            h.close_connection = True
        elif fault == "slow":
            for i in range(0, len(data), len(data) // 4 + 1):
                h.wfile.write(data[i:i + len(data) // 4 + 1])
                h.wfile.flush()
                time.sleep(0.1)
        else:
            h.wfile.write(data)

    # The spend report.

    def report_error(self, e):
        return {"error": {"error": e.message}, "object": {"error": {"message": e.message, "status": e.status}},
                "message": {"message": e.message}, "text": e.message}[self.habits["report_error"]]

    def report(self, h, url, q, fault, rng):
        if url.path != REPORT + "/ads/spend-report" or h.command != "GET":
            raise Refused(404, "", "Not Found")
        given = h.headers.get("Authorization", "")
        if not given:
            raise Refused(401, "", "Authentication required. Use Basic Auth or Bearer the service.")
        if given != "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode():
            raise Refused(401, "", "Incorrect username or password")
        if not q.get("start_date") or not q.get("end_date"):
            raise Refused(400, "", "Missing required parameters: start_date, end_date")
        try:
            if not all(re.fullmatch(r"\d{4}-\d\d-\d\d", q[k]) for k in ("start_date", "end_date")):
                raise ValueError
            start, end = date.fromisoformat(q["start_date"]), date.fromisoformat(q["end_date"])
        except ValueError:
            raise Refused(400, "", "Invalid date format (expected YYYY-MM-DD)")
        if start > end:
            raise Refused(400, "", "start_date must be <= end_date")
        if start < day_of(self.world.now) - timedelta(days=self.habits["reach"]):
            raise Refused(400, "", "start_date cannot be more than 32 days before today")
        creatives = q.get("include_creatives", "false") == "true"
        columns = self.columns(q.get("columns"), creatives)
        rows = self.group(start, end, columns, creatives)
        for k in ("campaign_id", "creative_id", "source_id"):
            if k in q:
                rows = [r for r in rows if r[0].get(k) == q[k]]
        rows = self.sorted(rows)
        total = len(rows)
        if self.habits["total"] == "without zeros":
            total = sum(r[1][0] > 0 for r in rows)
        if fault == "rows missing" and rows:
            rows = [r for r in rows if rng.random() > 0.05]
        if fault == "empty":
            rows, total = [], 0
        if fault == "wrong total":
            total += rng.choice([-3, 2, 1])
        return self.page(rows, max(0, total), columns, q)

    def columns(self, asked, creatives):
        if asked is None:
            return WITH_CREATIVES if creatives else PLAIN
        known = DIMENSIONS + MEASURES if creatives else PLAIN + ["clicks"]
        if creatives and self.habits["clicks"] != "given":
            known = [c for c in known if c != "clicks"]
        columns = asked.split(",")
        unknown = [c for c in columns if c not in known]
        refuse = self.habits["clicks"] if unknown == ["clicks"] else self.habits["unknown_column"]
        if unknown and refuse == "refused":
            raise Refused(400, "", f"Unknown column: {unknown[0]}")
        return [c for c in columns if c in known]

    def group(self, start, end, columns, creatives):
        """The rows (dimensions, measures) of a query, before they are cut into pages."""
        grain = [c for c in columns if c in DIMENSIONS]
        if creatives:
            grain = list(dict.fromkeys(["campaign_id", "creative_id"] + grain))
        elif self.habits["grouping"] == "full":
            grain = ["date", "campaign_id", "campaign_name", "creative_id", "source_id"]
        w, out = self.world, {}
        day = start
        while day <= end:
            spent = set()
            for (c, k, s, then), v in w.days.get(day, {}).items():
                spent.add(k)
                dims = self.dimensions(day, c, k, s, then)
                key = tuple(dims[g] for g in grain)
                had = out.setdefault(key, ({g: dims[g] for g in grain}, [0, 0, 0, 0]))
                for i in range(4):
                    had[1][i] += v[i]
            if creatives:
                for k in w.zero_creatives(day):
                    if k.id in spent:
                        continue
                    dims = self.dimensions(day, k.campaign.id, k.id, None, k.campaign.name)
                    key = tuple(dims[g] for g in grain)
                    out.setdefault(key, ({g: dims[g] for g in grain}, [0, 0, 0, 0]))
            day += timedelta(days=1)
        return list(out.values())

    def dimensions(self, day, c, k, s, then):
        campaign, creative = self.world.campaigns[c], self.world.creatives[k]
        url = "https://img.push.example/%s.png"
        return {"date": day.isoformat(), "campaign_id": c, "creative_id": k, "source_id": s,
                "campaign_name": then if self.habits["names"] == "then" else campaign.name,
                "creative_title": creative.title, "creative_message": creative.message,
                "creative_image_url": url % creative.image_id if creative.image_id else None,
                "creative_icon_url": url % creative.icon_id, "creative_status": creative.status}

    def sorted(self, rows):
        def text(r):
            return [str(v) for v in r[0].values()]
        order = self.habits["order"]
        if order == "spend":
            return sorted(rows, key=lambda r: (-r[1][0], text(r)))
        if order == "loose":  # as a database returns rows without ORDER BY
            salt = str(len(rows))
            return sorted(rows, key=lambda r: hashlib.md5((salt + repr(text(r))).encode()).digest())
        return sorted(rows, key=text)

    def number(self, micro):
        x = micro / MICRO
        if self.habits["floats"] and micro % 7 == 3:
            return math.nextafter(x, math.inf)
        return int(x) if x == int(x) and micro % 3 == 0 else x

    def values(self, row, columns):
        dims, (spend, clicks, impressions, conversions) = row
        ratio = lambda a, b: round(a / b, 6) if b else (None if self.habits["zero_numbers"] == "null" else 0)
        count = float if self.habits["counts"] == "float" else int
        zero = dims.get("source_id", "") is None
        values = dict(dims, total_spend=self.number(spend), clicks=count(clicks), impressions=count(impressions),
                      conversions=count(conversions), ctr=ratio(clicks, impressions),
                      cpc=ratio(spend / MICRO, clicks), cpa=ratio(spend / MICRO, conversions))
        if zero:
            if self.habits["zero_numbers"] == "null":
                values |= dict.fromkeys(["clicks", "impressions", "conversions"])
            if self.habits["zero_source"] == "empty":
                values["source_id"] = ""
        out = {c: values[c] for c in columns}
        if zero and self.habits["zero_source"] == "left out":
            out.pop("source_id", None)
        return out

    def page(self, rows, total, columns, q):
        if (until := self.habits["no_pagination_before"]) and self.world.now < until:
            return {"columns": columns, "data": [self.values(r, columns) for r in rows]}
        try:
            page, size = int(q.get("page", 1)), int(q.get("page_size", 1000))
        except ValueError:
            raise Refused(400, "", "page and page_size must be integers")
        if not 1 <= size <= 10000 or page < 1:
            raise Refused(400, "", "page_size must be between 1 and 10000")
        pages = -(-max(total, len(rows)) // size)
        if page > max(1, pages):
            if self.habits["page_beyond"] == "refused":
                raise Refused(400, "", "page out of range")
            if self.habits["page_beyond"] == "last":
                page = pages
        data = [self.values(r, columns) for r in rows[(page - 1) * size:page * size]]
        return {"columns": columns, "data": data, "pagination": {
            "page": page, "page_size": size, "total_rows": total, "total_pages": -(-total // size)}}

    # The advertiser API.

    def api(self, h, url, query, body):
        path = unquote(url.path)
        if not path.startswith(BASE + "/"):
            raise Refused(404, "not_found", "no such path")
        if h.headers.get("Authorization") != f"Bearer {KEY}":
            raise Refused(401, "unauthorized", "The API key is invalid, expired or revoked.")
        path = path[len(BASE):]
        if h.command != "GET":
            raise Refused(403, "forbidden", "This key is read-only.")
        if len({k for k, _ in query}) != len(query):
            raise Refused(400, "validation_failed", "a parameter is repeated")
        q = dict(query)
        w = self.world
        if path == "/v1/me":
            self.only(q)
            return self.one("me", self.me())
        if path == "/v1/limits":
            self.only(q)
            return self.one("limits", self.limits())
        if path == "/v1/balance":
            self.only(q, "fresh")
            return self.one("balance", self.balance())
        if path == "/v1/openapi.json":
            return {"openapi": "3.1.0", "info": {"title": "Advertiser API", "version": "1.0.0"}, "paths": {
                "/v1" + p: {"get": {"operationId": o}} for p, o in [
                    ("/me", "get_api_key_info"), ("/limits", "get_limits"), ("/balance", "get_balance"),
                    ("/campaigns", "list_campaigns"), ("/campaigns/{campaign_id}", "get_campaign"),
                    ("/campaigns/{campaign_id}/creatives", "list_creatives"),
                    ("/creatives/{creative_id}", "get_creative"),
                    ("/campaigns/{campaign_id}/sources", "get_source_settings")]}}
        if path == "/v1/campaigns":
            self.only(q, "status", "search", "limit", "offset")
            statuses = self.statuses(q, CAMPAIGN_STATUSES, ["active", "paused"])
            found = [c for c in w.campaigns.values() if c.id not in w.deleted and c.status in statuses and
                     q.get("search", "").lower() in (c.name + " " + c.id).lower()]
            return self.listing("campaigns", found, q, self.campaign_summary)
        if m := re.fullmatch(r"/v1/campaigns/([^/]+)(/creatives|/sources)?", path):
            c = w.campaigns.get(m[1])
            if not c or c.id in w.deleted:
                raise Refused(404, "not_found", f"campaign {m[1]} is not in this account")
            if m[2] == "/creatives":
                self.only(q, "status", "limit", "offset")
                statuses = self.statuses(q, CREATIVE_STATUSES, CREATIVE_STATUSES[:-1])
                return self.listing("creatives", [k for k in w.of(c) if k.status in statuses], q, self.creative)
            self.only(q)
            return self.one("sources", self.sources(c)) if m[2] else self.one("campaign", self.campaign(c))
        if m := re.fullmatch(r"/v1/creatives/([^/]+)", path):
            k = w.creatives.get(m[1])
            if not k or k.campaign.id in w.deleted:
                raise Refused(404, "not_found", f"creative {m[1]} is not in this account")
            self.only(q)
            return self.one("creative", self.creative(k))
        raise Refused(404, "not_found", "no such path")

    def only(self, q, *allowed):
        if unknown := [k for k in q if k not in allowed]:
            raise Refused(400, "validation_failed", f"unknown parameter {unknown[0]}")

    def statuses(self, q, known, default):
        if "status" not in q:
            return default
        asked = q["status"].split(",")
        if len(set(asked)) != len(asked) or set(asked) - set(known):
            raise Refused(400, "validation_failed", "status must be a unique list of " + ", ".join(known))
        return asked

    def listing(self, name, found, q, show):
        try:
            limit, offset = int(q.get("limit", 25)), int(q.get("offset", 0))
        except ValueError:
            raise Refused(400, "validation_failed", "limit and offset must be integers")
        if not 1 <= limit <= 100 or not 0 <= offset <= 10000:
            raise Refused(400, "validation_failed", "limit must be 1 to 100, offset 0 to 10000")
        found = sorted(found, key=lambda x: (x.created, x.id), reverse=True)
        items = [show(x) for x in found[offset:offset + limit]]
        total, more = len(found), offset + limit < len(found)
        return {
            "data": {"data": items}, "bare": items, "named": {name: items},
            "items_total": {"items": items, "total": total, "limit": limit, "offset": offset},
            "data_pagination": {"data": items, "pagination": {
                "total": total, "limit": limit, "offset": offset, "has_more": more}},
            "results_count": {"count": total, "results": items},
            "named_meta": {name: items, "meta": {"total": total, "limit": limit, "offset": offset}},
        }[self.habits["list"]]

    def one(self, name, value):
        if self.habits["object"] == "named" and name not in ("campaign", "creative"):
            return value
        return {"bare": value, "data": {"data": value}, "named": {name: value}}[self.habits["object"]]

    def ids(self, kind, id):
        return {"id": {"id": id}, "typed": {kind + "_id": id}, "both": {"id": id, kind + "_id": id}}[self.habits["id"]]

    def thin(self, value):
        """A value without its nulls, when that is the habit."""
        return {k: v for k, v in value.items() if v is not None} if self.habits["absent"] == "left out" else value

    def instant(self, t):
        if t is None:
            return None
        form = self.habits["instants"]
        if form == "-05:00":
            return t.astimezone(CHICAGO).isoformat(timespec="seconds")
        t = t.astimezone(UTC).replace(tzinfo=None)
        return t.isoformat(timespec="milliseconds" if form == ".000Z" else "seconds") + form.replace(".000", "")

    def money(self, micro):
        if micro is None:
            return None
        x = micro / MICRO
        return int(x) if x == int(x) else x

    def campaign_summary(self, c):
        full = self.campaign(c)
        if self.habits["summary"]:
            full = {k: v for k, v in full.items() if k in ("id", "campaign_id", "name", "status", "delivery_status")}
        return full

    def mode(self, c):
        return self.habits["mode_values"][c.mode == "allow_list"]

    def campaign(self, c):
        out = self.ids("campaign", c.id) | {
            "name": c.name, "status": c.status, "audience": dict(c.audience), "default_bid": self.money(c.bid),
            "daily_spend_limit": self.money(c.limit), "target_cpa": self.money(c.cpa),
            "start_date": self.instant(c.start), "end_date": self.instant(c.end),
            self.habits["mode_key"]: self.mode(c), "delivery_status": self.delivery(c)}
        if c.delivery_unreadable:
            del out["delivery_status"]
        if c.unsupported:
            out["unsupported_targeting"] = True
        if self.habits["extra"]:
            out |= {"created_at": self.instant(c.created), "managed_by": "api", "active_hours": None}
        return self.thin(out)

    def delivery(self, c):
        if c.status != "active":
            return c.status
        statuses = {k.status for k in self.world.of(c)}
        if "active" not in statuses:
            return "all_creatives_rejected" if statuses == {"rejected"} else "waiting_for_creatives"
        return {"delivering": "delivering", "active": "active", "null": None}[self.habits["delivering"]]

    def creative(self, k):
        out = self.ids("creative", k.id) | {f: getattr(k, f) for f in k.FIELDS} | {"status": k.status}
        if k.status == "rejected":
            out |= {"rejection_reasons": k.reasons, "rejection_comment": k.comment}
        if self.habits["extra"]:
            out |= {"created_at": self.instant(k.created), "campaign_id": k.campaign.id}
        return self.thin(out)

    def sources(self, c):
        blocked, allowed = sorted(c.blocked), sorted(c.allowed)
        bids = {s: self.money(b) for s, b in sorted(c.bids.items())}
        if self.habits["overrides"] == "list":
            bids = [{"source_id": s, "bid": b} for s, b in bids.items()]
        if c.bids_unreadable:
            bids = None
        form = self.habits["sources"]
        if form == "ids":
            out = {"blocked_source_ids": blocked, "allowed_source_ids": allowed}
        elif form == "lists":
            out = {"blocked": blocked, "allowed": allowed}
        elif form == "by mode":
            out = {"sources": allowed if c.mode == "allow_list" else blocked}
        else:
            out = {"blocked_sources": [{"source_id": s} for s in blocked],
                   "allowed_sources": [{"source_id": s} for s in allowed]}
        return self.ids("campaign", c.id) | {"mode": self.mode(c)} | out | {"bid_overrides": bids}

    def me(self):
        w = self.world
        if self.habits["me"] == "flat":
            return {"advertiser_id": w.advertiser, "advertiser_name": "Shop & Söhne", "scope": "read",
                    "can_make_changes": False}
        return {"advertiser": {"id": w.advertiser, "name": "Shop & Söhne"},
                "key": {"name": "warehouse", "scope": "read", "can_write": False,
                        "expires_at": self.instant(w.key_expires)}}

    def limits(self):
        resets = self.world.now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        used = self.world.changes_today
        if self.habits["limits"] == "list":
            return {"limits": [{"kind": k, "used": n, "limit": 200} for k, n in used.items()],
                    "resets_at": self.instant(resets)}
        return {k: {"used": n, "limit": 200} for k, n in used.items()} | {"resets_at": self.instant(resets)}

    def balance(self):
        self.last_balance = funds = self.world.funds // 10_000 * 10_000
        low = funds < 5000 * MICRO
        out = {"available_balance": self.money(funds), "payment_mode": "card",
               "auto_funding": {"enabled": True, "threshold": 1000, "amount": 20000},
               "status": "low" if low else "ok", "message": "Add funds soon." if low else None}
        if self.habits["balance"] == "plain":
            return out | {"average_daily_spend": 1000.5, "days_left": funds // (1000 * MICRO)}
        return out | {"average_daily_spend_7d": 1000.5, "days_remaining": round(funds / 1000 / MICRO, 1)}
