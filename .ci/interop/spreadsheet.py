"""Opens a workbook of `query --out` in LibreOffice, and compares its cells with the same answer as JSON.

    spreadsheet.py SPENDSYNC DATA_DIR WORK
"""
import csv
import json
import os
import pathlib
import subprocess
import sys
from decimal import Decimal

ASKED = """SELECT report_date, campaign_id, '=1+1' AS formula, '+1 "a", 00123' AS text, NULL::VARCHAR AS nothing, spend > 5 AS much,
  sum(spend) AS spend, sum(clicks)::BIGINT AS clicks, date_trunc('second', max(_first_seen_at)) AS seen
FROM spend_daily GROUP BY ALL ORDER BY ALL LIMIT 2000"""
# Export every sheet to its own file, with the value of each cell.
TO_CSV = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,-1"


def main(binary, data_dir, work):
    work = pathlib.Path(work)
    env = {**os.environ, "SPENDSYNC_DATA_DIR": data_dir, "HOME": str(work)}
    subprocess.run([binary, "query", "--out", str(work / "answer.xlsx"), "-c", ASKED], env=env, check=True)
    answer = subprocess.run([binary, "query", "--format", "json", "-c", ASKED], env=env, stdout=subprocess.PIPE, check=True).stdout
    want = [list(r.items()) for r in json.loads(answer, parse_float=Decimal)]
    subprocess.run(["soffice", "--headless", "--convert-to", TO_CSV, "--outdir", str(work), str(work / "answer.xlsx")],
                   env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    with open(work / "answer-Answer.csv", newline="") as f:
        header, *got = csv.reader(f)
    if not want or header != [name for name, _ in want[0]] or len(got) != len(want):
        raise SystemExit(f"the sheet has the columns {header} and {len(got)} rows, the answer {len(want)}")
    for cells, row in zip(got, want):
        for cell, (name, value) in zip(cells, row):
            if not same(cell, name, value):
                raise SystemExit(f"{name} is {cell!r} in LibreOffice and {value!r} in the answer")
    print(f"LibreOffice reads {len(want):,} rows with every value, and formulas stay texts")


def same(cell, name, value):
    if value is None:
        return cell == ""
    if isinstance(value, bool):
        return cell == str(value).upper()
    if name in ("spend", "clicks"):
        return Decimal(cell) == Decimal(value)
    if name == "seen":
        return cell == value.replace("T", " ").removesuffix("Z")
    return cell == value


main(*sys.argv[1:])
