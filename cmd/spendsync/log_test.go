package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
)

// summaryKeys lists the keys of the last line of a run's log, in order. Users rely on these keys. The detail is left
// out if it has no more than msg.
const summaryKeys = "time level msg run command account " +
	"started_at elapsed_ms version published generation warehouse_bytes " +
	"days_planned days_proven days_changed days_complete days_missing days_at_risk days_lost newest_complete_day " +
	"rows_read rows_inserted rows_updated rows_deleted restatements settings_versions campaigns_read " +
	"campaigns_skipped " +
	"requests retries bytes_read throttled_ms failures key_expires_at detail exit_code means safe do"

// logLines decodes a log of JSON lines. Each line is one object, without duplicate keys.
func logLines(t *testing.T, text string) (lines []map[string]any, lastKeys string) {
	t.Helper()
	for line := range strings.Lines(text) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Errorf("%v: %s", err, line)
			continue
		}
		lines = append(lines, m)
		d := jsontext.NewDecoder(strings.NewReader(line))
		var keys []string
		for d.ReadToken(); d.PeekKind() != '}'; d.SkipValue() {
			name, err := d.ReadToken()
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, name.String())
		}
		lastKeys = strings.Join(keys, " ")
	}
	return lines, lastKeys
}

func TestLog_IsOneObjectALine(t *testing.T) {
	w := newWorld(t, small)
	w.env["LOG_FORMAT"], w.env["LOG_LEVEL"] = "json", "debug"
	w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 503, Times: 1})
	code, text := w.stderr("sync")
	lines, keys := logLines(t, text)
	if code != exit.OK || len(lines) < 30 {
		t.Fatalf("exit %d, %d lines: %s", code, len(lines), text)
	}
	runs := map[any]bool{}
	for _, l := range lines {
		for _, key := range []string{"time", "level", "msg", "run", "command", "account"} {
			if l[key] == nil || l[key] == "" {
				t.Errorf("a line has no %s: %v", key, l)
			}
		}
		runs[l["run"]] = true
	}
	if len(runs) != 1 || w.ask("SELECT max(_run_id) FROM ops.run") != lines[0]["run"] {
		t.Errorf("runs on the lines: %v", runs)
	}
	if keys != strings.Replace(summaryKeys, "detail ", "", 1) {
		t.Errorf("the summary has\n%s\nwant\n%s", keys, summaryKeys)
	}
	last := lines[len(lines)-1]
	for key, want := range map[string]any{
		"exit_code": 0.0, "level": "INFO", "command": "sync", "account": "acme", "days_proven": 33.0,
		"days_complete": 32.0, "days_missing": 0.0,
		"generation": 1.0, "newest_complete_day": (w.today() - 1).String(), "failures": 0.0, "retries": 1.0,
	} {
		if last[key] != want {
			t.Errorf("%s = %v, want %v", key, last[key], want)
		}
	}
	if last["warehouse_bytes"].(float64) <= 0 {
		t.Errorf("warehouse_bytes = %v", last["warehouse_bytes"])
	}

	// A run that publishes nothing has the same summary.
	w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 503})
	code, text = w.stderr("sync")
	lines, keys = logLines(t, text)
	last = lines[len(lines)-1]
	if code != exit.Unreachable || keys != summaryKeys || last["exit_code"] != float64(exit.Unreachable) ||
		last["published"] != false || last["days_complete"] != 32.0 {
		t.Errorf("exit %d: %v with the keys\n%s", code, last, keys)
	}
	// A run that cannot even start logs its account and how it ended.
	delete(w.env, "REPORT_USER")
	_, text = w.stderr("sync")
	lines, keys = logLines(t, text)
	if want := strings.Fields("time level msg run command account exit_code means safe do"); len(lines) != 1 ||
		!slices.Equal(strings.Fields(keys), want) {
		t.Errorf("%d lines, keys %s", len(lines), keys)
	}
}
