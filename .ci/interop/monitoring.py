"""Checks the alert rules and the dashboard with the metrics of a run in a real Prometheus.

    monitoring.py URL RULES DASHBOARD

Waits until SpendsyncKeyExpires fires, whose cause the caller has made, and runs the queries of all panels of the
dashboard for the account that Grafana's variable would select.
"""
import json
import sys
import time
import urllib.parse
import urllib.request

import yaml


def ask(url, path, **values):
    with urllib.request.urlopen(f"{url}/api/v1/{path}?{urllib.parse.urlencode(values)}") as reply:
        return json.load(reply)["data"]


def main(url, rules, dashboard):
    with open(rules) as f:
        declared = [r["alert"] for g in yaml.safe_load(f)["groups"] for r in g["rules"]]
    loaded = [r["name"] for g in ask(url, "rules")["groups"] for r in g["rules"]]
    if loaded != declared:
        raise SystemExit(f"Prometheus has the rules {loaded}, not {declared}")
    end = time.monotonic() + 60
    while not (firing := [a for a in ask(url, "alerts")["alerts"] if a["state"] == "firing"]) and time.monotonic() < end:
        time.sleep(0.5)
    seen = [(a["labels"]["alertname"], a["labels"]["account"], a["labels"]["severity"]) for a in firing]
    if seen != [("SpendsyncKeyExpires", "acme", "warning")]:
        raise SystemExit(f"these alerts fire: {firing}")
    print("fires:", firing[0]["annotations"]["summary"])
    with open(dashboard) as f:
        panels = json.load(f)["panels"]
    empty, n = [], 0
    for panel in panels:
        for target in panel.get("targets", []):
            if "spendsync_lake_" in target["expr"]:  # this store has no lake
                continue
            n += 1
            if not ask(url, "query", query=target["expr"].replace("$account", "acme"))["result"]:
                empty.append(f"{panel['title']}: {target['expr']}")
    if not n or empty:
        raise SystemExit("no answer for " + "; ".join(empty))
    print(f"Prometheus answers the {n} expressions of the dashboard")


main(*sys.argv[1:])
