package main

import (
	"database/sql"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
)

// openDuckDB opens the published file as an analyst does.
func openDuckDB(path string) *sql.DB {
	db, err := sql.Open("duckdb", path+"?access_mode=read_only&threads=1")
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	return db
}

// exitCase brings about an exit code.
type exitCase struct {
	code   int
	args   []string
	synced bool           // a store is there
	break_ func(w *world) // what goes wrong
	says   []string
}

// exitCases are each code, with its message.
var exitCases = map[string]exitCase{
	"0 nothing is wrong": {code: exit.OK, says: []string{"33 days of 33 planned proven"}},
	"2 variable missing": {
		code: exit.Usage, break_: func(w *world) { delete(w.env, "REPORT_USER") },
		says: []string{"SPENDSYNC_REPORT_USER is not set"},
	},
	"2 variable malformed": {
		code: exit.Usage, break_: func(w *world) { w.env["REREAD_AFTER"] = "soon" },
		says: []string{"SPENDSYNC_REREAD_AFTER", "soon"},
	},
	"2 plain http": {
		code: exit.Usage, break_: func(w *world) { w.env["REPORT_URL"] = "http://ads.example.com/report" },
		says: []string{"SPENDSYNC_REPORT_URL", "http"},
	},
	"2 unknown flag":    {code: exit.Usage, args: []string{"sync", "--fast"}, says: []string{"--fast"}},
	"2 unknown command": {code: exit.Usage, args: []string{"synk"}, says: []string{"synk"}},
	"2 day out of reach": {
		code: exit.Usage, args: []string{"backfill", "--from", "2020-01-01", "--to", "2020-01-02"},
		says: []string{"2020-01-01", "reaches back to"},
	},
	"3 wrong password": {
		code: exit.Auth, break_: func(w *world) { w.env["REPORT_PASSWORD"] = "wrong" },
		says: []string{"Incorrect username or password", "published"},
	},
	"3 no advertiser": {
		code: exit.Auth, break_: func(w *world) {
			w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 403})
		},
		says: []string{"403"},
	},
	"4 a day fails": {
		code: exit.Partial, break_: func(w *world) {
			w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 500, Day: (w.today() - 5).String()})
		},
		says: []string{"32 days of 33 planned proven", "500"},
	},
	"4 a day does not add up": {
		code: exit.Partial, break_: func(w *world) {
			w.service.Fail(adsim.Fault{Kind: adsim.Total, Day: (w.today() - 5).String(), Page: 2})
		},
		says: []string{"total"},
	},
	"5 nobody listens": {
		code: exit.Unreachable, break_: func(w *world) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				w.t.Fatal(err)
			}
			w.env["REPORT_URL"] = "http://" + l.Addr().String()
			l.Close()
		},
		says: []string{"nothing of the report published", "refused"},
	},
	"5 it keeps failing": {
		code: exit.Unreachable, break_: func(w *world) {
			w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 503})
		},
		says: []string{"nothing published", "503"},
	},
	"5 a page for people": {
		code: exit.Unreachable, break_: func(w *world) { w.service.Fail(adsim.Fault{Kind: adsim.HTML}) },
		says: []string{"nothing published"},
	},
	"6 a text where a number belongs": {
		code: exit.Contract, break_: func(w *world) {
			w.service.Fail(adsim.Fault{Kind: adsim.WrongType, Query: "include_creatives=true", Row: -1,
				Column: "total_spend", Value: `"12,5"`})
		},
		says: []string{"nothing of the report published", "row 1", "total_spend", "12,5"},
	},
	"7 no folder to write to": {
		code: exit.Storage, break_: func(w *world) {
			if err := os.WriteFile(w.dir, []byte("a file stands here"), 0o644); err != nil {
				w.t.Fatal(err)
			}
		},
		says: []string{"not a directory"},
	},
	"8 a stored file is damaged": {
		code: exit.Damaged, args: []string{"verify"}, synced: true,
		break_: func(w *world) {
			if err := os.Truncate(filepath.Join(w.dir, "parquet/calendar/account=acme/data.parquet"),
				100); err != nil {
				w.t.Fatal(err)
			}
		},
		says: []string{"parquet/calendar/account=acme/data.parquet"},
	},
	"10 a newer store": {
		code: exit.Newer, synced: true,
		break_: func(w *world) {
			path := filepath.Join(w.dir, "manifest.json")
			if err := os.WriteFile(path, []byte(`{"format": 99}`), 0o644); err != nil {
				w.t.Fatal(err)
			}
		},
		says: []string{"newer version"},
	},
	"11 a day about to leave the reach": {
		code: exit.DayAtRisk, break_: func(w *world) {
			w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 500, Day: (w.today() - 31).String()})
		},
		says: []string{"is not proven and can be read for 2 days more"},
	},
}

// TestExitCodes brings about each code once, with its message.
func TestExitCodes(t *testing.T) {
	for name, c := range exitCases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).withoutMarts()
			if c.synced {
				w.synced()
			}
			w.env["PAGE_SIZE"] = "40"
			published := w.hashes("parquet/spend_daily", "raw/spend_report")
			if c.break_ != nil {
				c.break_(w)
			}
			if c.args == nil {
				c.args = []string{"sync"}
			}
			code, out, last := w.run(c.args...)
			if code != c.code {
				t.Errorf("exit %d, want %d: %s", code, c.code, last)
			}
			for _, s := range c.says {
				if !strings.Contains(last, s) {
					t.Errorf("the last line lacks %q: %s", s, last)
				}
			}
			if c.code != exit.OK && !strings.Contains(last, " do: ") {
				t.Errorf("the last line does not say what to do: %s", last)
			}
			if c.code == exit.Unreachable || c.code == exit.Contract || c.code == exit.Newer {
				if now := w.hashes("parquet/spend_daily", "raw/spend_report"); len(now) != len(published) {
					t.Errorf("%d published files, there were %d", len(now), len(published))
				}
			}
			_ = out
		})
	}
}

// TestExitCodes_AreTheContract holds the numbers.
func TestExitCodes_AreTheContract(t *testing.T) {
	var got []int
	for _, e := range exit.Codes {
		got = append(got, e.Code)
		if e.Means == "" || e.Safe == "" || e.Do == "" {
			t.Errorf("exit %d lacks a text", e.Code)
		}
	}
	if s := fmt.Sprint(got); s != "[0 1 2 3 4 5 6 7 8 9 10 11 143]" {
		t.Errorf("codes = %s", s)
	}
}
