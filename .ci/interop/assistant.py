"""Calls 'spendsync mcp' with the Python client of the Model Context Protocol: every tool, invalid calls, and SQL that
tries to read other files or to run forever.

    assistant.py SPENDSYNC DATA_DIR
"""
import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

TOOLS = ["ask", "coverage", "describe", "questions", "sql"]
HOSTILE = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT content FROM read_text('/proc/self/environ')",
    "ATTACH '/tmp/other.duckdb'",
    "COPY spend TO '/tmp/stolen.csv'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SELECT * FROM read_parquet('https://example.com/x.parquet')",
    "SELECT getenv('HOME')",
    "SET memory_limit = '100GB'",
    "PRAGMA database_list",
    "CREATE TABLE mine AS SELECT 1",
    "DELETE FROM spend_daily",
    "SELECT 1; DROP TABLE spend_daily",
    "CALL pragma_version()",
    "EXPORT DATABASE '/tmp/out'",
]
ENDLESS = [
    "WITH RECURSIVE n AS (SELECT 1::HUGEINT AS i UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
    "SELECT count(DISTINCT hash(r.range, s.range)) FROM range(1000000) AS r, range(1000000) AS s",
]
LARGE = ["SELECT * FROM range(1000000000)", "SELECT repeat('x', 1000000) AS x FROM range(1000)"]


def text_of(result):
    return "".join(part.text for part in result.content)


def failed(result):
    return getattr(result, "is_error", None) or getattr(result, "isError", False)


async def ask(session):
    tools = sorted(tool.name for tool in (await session.list_tools()).tools)
    assert tools == TOOLS, tools
    listed = json.loads(text_of(await session.call_tool("questions", {})))
    names = [q["name"] for q in listed["questions"]]
    assert len(names) == 14 and listed["views"] and listed["macros"], listed.keys()
    for name in names:
        result = await session.call_tool("ask", {"name": name, "rows": 3})
        answer = json.loads(text_of(result))
        assert not failed(result) and answer["generation"] > 0 and answer["mind"], (name, answer)
    described = json.loads(text_of(await session.call_tool("describe", {"names": ["spend", "today"]})))
    assert [d["name"] for d in described] == ["main.spend", "main.today"], described
    coverage = json.loads(text_of(await session.call_tool("coverage", {})))
    assert coverage["generation"] > 0, coverage
    warned = json.loads(text_of(await session.call_tool("sql", {"sql": "SELECT sum(spend) AS spend FROM spend_daily"})))
    assert len(warned["rows"]) == 1 and warned["facts"], warned
    for sql in HOSTILE:
        result = await session.call_tool("sql", {"sql": sql})
        assert failed(result) and text_of(result), (sql, text_of(result)[:300])
        assert "root:" not in text_of(result)
    for sql in LARGE:
        result = await session.call_tool("sql", {"sql": sql, "rows": 1000})
        assert failed(result) or len(text_of(result)) < 80_000 and json.loads(text_of(result))["left_out"], sql
    for sql in ENDLESS:
        result = await session.call_tool("sql", {"sql": sql})
        assert failed(result), (sql, text_of(result)[:300])
        print(f"  {sql[:40]}...: {text_of(result)[:160]}")
    wrong = [("ask", {"name": "no_such"}), ("ask", {"name": "last_week", "parameters": {"weeks": "-1"}}),
             ("sql", {"sql": "SELECT spent FROM spend"}), ("sql", {"sql": "FROM spend", "rows": 5000}),
             ("describe", {"names": ["no_such"]})]
    for tool, arguments in wrong:
        result = await session.call_tool(tool, arguments)
        assert failed(result) and text_of(result), (tool, arguments, text_of(result)[:300])
    print(f"an assistant got {len(names)} questions answered; {len(HOSTILE)} hostile, {len(LARGE)} large and {len(ENDLESS)} endless "
          f"statements and {len(wrong)} wrong calls ended as they must")


async def main(binary, data_dir):
    env = {k: v for k, v in os.environ.items() if not k.startswith("SPENDSYNC_")} | {"SPENDSYNC_DATA_DIR": data_dir}
    server = StdioServerParameters(command=binary, args=["mcp"], env=env)
    async with stdio_client(server) as (reader, writer), ClientSession(reader, writer) as session:
        first = await session.initialize()
        assert "spend" in first.instructions and len(first.instructions.encode()) <= 4096, first
        await ask(session)


asyncio.run(main(*sys.argv[1:]))
