"""The true state of the advertiser's account: campaigns, creatives, source rules, and their spend.

This module knows nothing about HTTP. service.py shows this world with its habits, and life.py compares it with what
spendsync stored. Amounts are integers of micro-dollars, instants are aware datetimes, days are Chicago's.
"""
import random
import string
from datetime import date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

CHICAGO = ZoneInfo("America/Chicago")
UTC = timezone.utc
MICRO = 1_000_000

ADJECTIVES = "Summer Winter Rain Wool Silent Urban Café Ünlimited Loud 日本 Early O'Neil's Quoted\"".split()
NOUNS = "Jackets Tents Loans Quotes Shoes Deals, Trips\tMiles Games Savings 50%".split(" ")


def day_of(instant):
    return instant.astimezone(CHICAGO).date()


class Campaign:
    def __init__(self, id, name, created):
        self.id, self.name, self.created = id, name, created
        self.names = {name}
        self.status = "active"
        self.bid = 250_000
        self.limit = 500 * MICRO
        self.cpa = None
        self.start, self.end = created, None
        self.audience = {}
        self.unsupported = False
        self.mode = "block_list"
        self.blocked, self.allowed = set(), set()
        self.bids = {}  # of sources, in micro-dollars
        self.sources = []  # on which its ads run
        self.bids_unreadable = self.delivery_unreadable = False

    def state(self):
        """Every setting that a reader of the API can know."""
        a = self.audience
        return {
            "name": self.name, "status": self.status, "default_bid": self.bid, "daily_spend_limit": self.limit,
            "target_cpa": self.cpa, "start_at": self.start, "end_at": self.end, "country": a.get("country"),
            "states": ",".join(sorted(a["states"])) if a.get("states") else None,
            "platforms": ",".join(sorted(a["platforms"])) if a.get("platforms") else None,
            "subscribed_more_than_minutes_ago": a.get("subscribed_more_than_minutes_ago"),
            "subscribed_less_than_minutes_ago": a.get("subscribed_less_than_minutes_ago"),
            "min_age": a.get("min_age"), "max_age": a.get("max_age"), "gender": a.get("gender"),
            "source_mode": self.mode,
        }


class Creative:
    FIELDS = ("title", "message", "link", "image_id", "icon_id", "button1", "button2")

    def __init__(self, id, campaign, created):
        self.id, self.campaign, self.created = id, campaign, created
        self.title = self.message = self.link = self.icon_id = ""
        self.image_id = self.button1 = self.button2 = None
        self.status, self.reasons, self.comment = "pending_review", None, None
        self.archived = None  # when

    def state(self):
        out = {f: getattr(self, f) for f in self.FIELDS}
        out |= {"campaign_id": self.campaign.id, "status": self.status,
                "rejection_reasons": None, "rejection_comment": None}
        if self.status == "rejected":
            out |= {"rejection_reasons": ",".join(sorted(self.reasons)), "rejection_comment": self.comment}
        return out


class World:
    """An account that exists from 34 days before start. advance lets time pass, and so does touch during a run."""

    def __init__(self, seed, start, habits, campaigns=12):
        self.rng = random.Random(f"world {seed}")
        self.habits = habits
        self.now = start - timedelta(days=34)
        self.advertiser = f"adv_{self.rng.randrange(10**6, 10**7)}"
        self.campaigns, self.creatives = {}, {}
        self.days = {}  # day -> (campaign, creative, source, name then) -> [spend, clicks, impressions, conversions]
        self.late = []  # conversions to come: (when, day, key)
        self.funds = 40_000 * MICRO
        self.changes_today = {"campaign_changes": 0, "creative_changes": 0, "source_changes": 0}
        # by day: the rows that the day had during the current run, oldest first; None: there is no run
        self.watched = None
        self.deleted = {}  # campaign -> when
        self.key_expires = start + timedelta(days=45)
        for _ in range(campaigns):
            self.new_campaign()
        for _ in range(habits["old_campaigns"]):
            c = self.new_campaign(active=False)
            c.status = "archived"
            for k in self.of(c):
                k.status, k.archived = "archived", self.now
        for k in self.creatives.values():
            if k.status == "pending_review":
                k.status = "active"
        self.advance(start, quiet=0.3)

    # What is true.

    def of(self, c):
        return [k for k in self.creatives.values() if k.campaign is c]

    def zero_creatives(self, day):
        """The creatives that the report lists with zero spend on a day on which they have no rows."""
        for k in self.creatives.values():
            if k.campaign.id in self.deleted or k.status == "draft":
                continue
            if self.habits["zero_rows"] == "now":  # every creative that is not archived now, on every day
                if k.status != "archived":
                    yield k
            elif day_of(k.created) <= day and (k.archived is None or day_of(k.archived) >= day):
                yield k

    def rows(self, day):
        """The rows of a day by (campaign, creative, source), as the report has them with creatives included."""
        out = {}
        for (c, k, s, _), v in self.days.get(day, {}).items():
            had = out.setdefault((c, k, s), [0, 0, 0, 0])
            out[c, k, s] = [a + b for a, b in zip(had, v)]
        spent = {k for _, k, _ in out}
        for k in self.zero_creatives(day):
            if k.id not in spent:
                out[k.campaign.id, k.id, ""] = [0, 0, 0, 0]
        return out

    def settings(self):
        campaigns = {i: c.state() for i, c in self.campaigns.items() if i not in self.deleted}
        rules = {}
        for i, c in self.campaigns.items():
            if i in self.deleted:
                continue
            for kind, sources in (("blocked", c.blocked), ("allowed", c.allowed)):
                rules |= {(i, s, kind): None for s in sources}
            if not c.bids_unreadable:
                rules |= {(i, s, "bid_override"): b for s, b in c.bids.items()}
        return {"campaign": campaigns,
                "creative": {i: k.state() for i, k in self.creatives.items() if k.campaign.id not in self.deleted},
                "source_rule": rules}

    def watch(self, reach):
        """From now on, record every state of the settings and of the days that the report still reaches."""
        self.watched = {d: [self.rows(d)] for d in reach}
        self.watched_settings = [self.settings()]

    def unwatch(self):
        self.note_all()
        days, self.watched = self.watched, None
        return days, self.watched_settings

    def note(self, day):
        if self.watched is not None and day in self.watched:
            self.watched[day].append(self.rows(day))

    def note_all(self):
        if self.watched is None:
            return
        for d in self.watched:
            rows = self.rows(d)
            if rows != self.watched[d][-1]:
                self.watched[d].append(rows)
        self.watched_settings.append(self.settings())

    # How it changes.

    def text(self):
        r = self.rng
        return f"{r.choice(ADJECTIVES)} {r.choice(NOUNS)} {r.randrange(1000)}"

    def new_campaign(self, active=True):
        r = self.rng
        while (id := "C" + "".join(r.choices(string.digits, k=r.randint(7, 10)))) in self.campaigns:
            pass
        c = self.campaigns[id] = Campaign(id, self.text(), self.now.replace(microsecond=0))
        c.bid = r.randrange(10, 200) * 10_000 + (r.random() < 0.2) * 2_500
        c.limit = r.choice([100, 250, 1000, 2500.5, 100_000])
        c.limit = int(c.limit * MICRO)
        if r.random() < 0.5:
            c.cpa = r.randrange(100, 4000) * 10_000
        if r.random() < 0.3:
            c.end = self.now.replace(microsecond=0) + timedelta(days=r.randrange(20, 200))
        c.audience = self.audience()
        c.unsupported = r.random() < 0.15
        c.sources = sorted({f"S{r.randrange(1000, 99999)}" for _ in range(r.randint(4, 9))})
        if r.random() < 0.3:
            c.mode, c.allowed = "allow_list", set(c.sources)
        for _ in range(r.randint(1, 4)):
            self.new_creative(c)
        if active and r.random() < 0.8:
            for k in self.of(c):
                k.status = "active" if r.random() < 0.8 else k.status
        return c

    def audience(self):
        r = self.rng
        a = {}
        if r.random() < 0.6:
            a["country"] = r.choice(["US", "CA", "DE", "GB", "NL"])
            if a["country"] == "US" and r.random() < 0.4:
                a["states"] = r.sample(["CA", "TX", "NY", "IL", "WA"], r.randint(1, 3))
        if r.random() < 0.5:
            a["platforms"] = r.sample(["DESKTOP", "MOBILE", "TABLET", "OTHER"], r.randint(1, 4))
        if r.random() < 0.2:
            a["subscribed_less_than_minutes_ago"] = 10080
        if r.random() < 0.2:
            a["min_age"], a["max_age"] = 18, r.randint(30, 99)
        if r.random() < 0.2:
            a["gender"] = r.choice("MF")
        return a

    def new_creative(self, c):
        r = self.rng
        while (id := f"{c.id}-{r.randrange(10**3, 10**r.randint(4, 6))}") in self.creatives:
            pass
        k = self.creatives[id] = Creative(id, c, self.now.replace(microsecond=0))
        k.title, k.message = self.text(), r.choice(["Hello {{=data.first_name||'you'}}!", self.text(), "até já"])
        k.link = f"https://shop.example/{r.randrange(10**6)}?src=<<source>>&c={{{{=data.city}}}}"
        k.icon_id = "%024x" % r.getrandbits(96)
        k.image_id = "%024x" % r.getrandbits(96) if r.random() < 0.5 else None
        k.button1 = r.choice([None, "Click Here", "Buy"])
        k.status = "draft" if r.random() < 0.05 else "pending_review"
        return k

    def advance(self, to, quiet=1.0):
        """Let time pass, hour by hour."""
        while self.now < to:
            before = day_of(self.now)
            step = min(to, self.now + timedelta(hours=1))
            fraction = (step - self.now) / timedelta(hours=1)
            self.spend(fraction)
            self.now = step
            if step.hour == 0:
                self.changes_today = dict.fromkeys(self.changes_today, 0)
            if day_of(step) != before:
                self.note(before)
            self.convert_late()
            if self.rng.random() < 0.5 * quiet * fraction:
                self.edit()
            if self.rng.random() < 0.25 * fraction:
                self.restate()
            self.bids_lapse()

    def bids_lapse(self):
        """Now and then the service can't read a setting that it usually shows."""
        for c in self.campaigns.values():
            c.bids_unreadable = self.rng.random() < 0.03
            c.delivery_unreadable = self.rng.random() < 0.03

    def touch(self, rng):
        """What happens during a run: the open day grows; rarely, something else changes."""
        self.now += timedelta(milliseconds=20)
        if rng.random() < 0.3:
            self.spend(0.02)
        if rng.random() < 0.004:
            self.restate()
        if rng.random() < 0.004:
            self.edit()

    def spend(self, fraction):
        day = day_of(self.now)
        cells = self.days.setdefault(day, {})
        r = self.rng
        for c in self.campaigns.values():
            if c.status != "active" or c.id in self.deleted:
                continue
            for k in self.of(c):
                if k.status != "active":
                    continue
                for s in c.sources:
                    if s in c.blocked or c.mode == "allow_list" and s not in c.allowed:
                        continue
                    if r.random() > 0.3 * fraction:
                        continue
                    impressions = r.randrange(1, 400)
                    clicks = sum(r.random() < 0.02 for _ in range(impressions))
                    price = min(c.bids.get(s, c.bid), c.bid * 3) * r.choice([60, 75, 80, 99, 100]) // 100
                    cell = cells.setdefault((c.id, k.id, s, c.name), [0, 0, 0, 0])
                    cell[0] += clicks * price // self.habits["cents"] * self.habits["cents"]
                    cell[1] += clicks
                    cell[2] += impressions
                    self.funds -= clicks * price
                    for _ in range(clicks):
                        x = r.random()
                        if x < 0.02:
                            cell[3] += 1
                        elif x < 0.05:
                            self.late.append((self.now + timedelta(hours=r.randrange(1, 200)), day,
                                              (c.id, k.id, s, c.name)))
        if self.funds < 1000 * MICRO:
            self.funds += 20_000 * MICRO
        if self.watched is not None:
            self.note(day)

    def convert_late(self):
        due = [x for x in self.late if x[0] <= self.now]
        self.late = [x for x in self.late if x[0] > self.now]
        for _, day, key in due:
            if key in self.days.get(day, {}):
                self.days[day][key][3] += 1
        for day in {d for _, d, _ in due}:
            self.note(day)

    def restate(self):
        """The service takes back, adds or corrects spend of a day that is over."""
        today = day_of(self.now)
        day = today - timedelta(days=self.rng.choice([1, 1, 2, 3, 5, 9, 20, 31]))
        cells = self.days.get(day)
        if not cells:
            return
        r = self.rng
        kind = r.choice(["source", "scale", "row gone", "row new", "clicks"])
        key = r.choice(list(cells))
        if kind == "source":  # clicks of one source were worthless
            for k in [k for k in cells if k[2] == key[2]]:
                cells[k] = [0, 0, cells[k][2], 0]
        elif kind == "scale":
            for k in r.sample(list(cells), len(cells) // 5):
                cells[k][0] = cells[k][0] * 9 // 10 // self.habits["cents"] * self.habits["cents"]
        elif kind == "row gone":
            del cells[key]
        elif kind == "row new":
            cells[key[0], key[1], f"S{r.randrange(1000, 99999)}", key[3]] = [330_000, 1, 90, 0]
        else:
            cells[key][1] += 1
        self.note(day)

    def edit(self):
        """A person changes something in the account."""
        r = self.rng
        alive = [c for c in self.campaigns.values() if c.status != "archived" and c.id not in self.deleted]
        if len(alive) < 5:
            self.new_campaign()
            return self.note_all()
        c = r.choice(alive)
        kinds = ["bid", "limit", "cpa", "rename", "audience", "end", "pause", "block", "override", "creative",
                 "review", "review", "edit creative", "pause creative", "archive creative"]
        if r.random() < 0.1:
            kinds = ["new", "archive", "reject", "delete"] if len(alive) < 18 else ["archive"]
        kind = r.choice(kinds)
        mine = [k for k in self.of(c) if k.status != "archived"]
        if kind == "bid":
            c.bid = min(25 * MICRO, max(300_000, c.bid * r.choice([80, 90, 110, 150]) // 100 // 10_000 * 10_000))
        elif kind == "limit":
            c.limit = min(MICRO * MICRO, c.limit + r.choice([50, 25.25, 100]) * MICRO)
            c.limit = int(c.limit)
        elif kind == "cpa":
            c.cpa = None if c.cpa and r.random() < 0.3 else r.randrange(100, 4000) * 10_000
        elif kind == "rename":
            c.name = self.text()
            c.names.add(c.name)
        elif kind == "audience":
            c.audience = self.audience()
        elif kind == "end":
            c.end = None if c.end else self.now.replace(microsecond=0) + timedelta(days=30)
        elif kind == "pause":
            c.status = "active" if c.status == "paused" else "paused" if c.status == "active" else c.status
        elif kind == "block":
            s = r.choice(c.sources)
            if c.mode == "block_list":
                c.blocked ^= {s}
            elif s not in c.allowed or len(c.allowed) > 1:
                c.allowed ^= {s}
        elif kind == "override":
            s = r.choice(c.sources)
            if c.bids.pop(s, None) is None or r.random() < 0.5:
                c.bids[s] = min(c.bid * 3, r.randrange(30, 300) * 10_000)
        elif kind == "creative":
            self.new_creative(c)
        elif kind == "review":
            for k in self.creatives.values():
                if k.status == "pending_review":
                    if r.random() < 0.8:
                        k.status = "active"
                    else:
                        k.status, k.comment = "rejected", "Too loud, " + self.text()
                        k.reasons = r.sample(["misleading", "adult", "low quality icon"], r.randint(1, 2))
        elif kind == "edit creative" and mine:
            k = r.choice(mine)
            if k.status in ("pending_review", "rejected", "draft"):
                k.title, k.status, k.reasons, k.comment = self.text(), "pending_review", None, None
            else:  # the new version has been approved by now
                k.message, k.button2 = self.text(), r.choice([None, "Later"])
        elif kind == "pause creative" and mine:
            k = r.choice(mine)
            k.status = {"active": "paused", "paused": "active"}.get(k.status, k.status)
        elif kind == "archive creative" and len(mine) > 1:
            k = r.choice(mine)
            k.status, k.archived = "archived", self.now
        elif kind == "new":
            self.new_campaign(active=False)
        elif kind == "archive":
            c.status = "archived"
            for k in mine:
                k.status, k.archived = "archived", self.now
        elif kind == "reject":
            c.status = "rejected"
        elif kind == "delete" and self.habits["deletes"]:
            self.deleted[c.id] = self.now  # by the service's own people; its spend stays in the report
        self.changes_today[r.choice(list(self.changes_today))] += 1
        self.note_all()
