package load

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"spendsync/load/parquet"
	"spendsync/schema"
)

// TestCopies_TellZeroFromUnknown reads the coverage and the runs from Parquet alone, over two runs two months apart.
// The second run also publishes the record of a failed run between the two, and keeps the unchanged files of the first
// month.
func TestCopies_TellZeroFromUnknown(t *testing.T) {
	r := newRun(t, t.TempDir())
	r.mustSync(twoDays())
	read := func(path string, into any) []byte {
		t.Helper()
		path = filepath.Join(r.dir, "parquet", path, "data.parquet")
		var err error
		switch into := into.(type) {
		case *[]schema.DayCoverage:
			*into, err = parquet.ReadRows(path, schema.CoverageFiles)
		case *[]schema.Run:
			*into, err = parquet.ReadRows(path, schema.RunFiles)
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	const november = "ops_day_coverage/account=acme/month=2026-11-01"
	var days []schema.DayCoverage
	read(november, &days)
	states := map[schema.Date]string{}
	for _, d := range days {
		states[d.ReportDate] = d.State
	}
	if len(days) != 21 || states[day] != schema.StateComplete || states[day-3] != schema.StateMissing {
		t.Errorf("November = %v", states)
	}
	var runs []schema.Run
	was := read("ops_run/account=acme/month=2026-11-01", &runs)
	if len(runs) != 1 || !runs[0].Published || runs[0].Generation != 1 {
		t.Errorf("runs = %+v", runs)
	}

	r.at = now.AddDate(0, 2, 0)
	s, err := Open(t.Context(), r.dir, "acme", r.opts)
	if err != nil {
		t.Fatal(err)
	}
	failed := schema.Run{AccountID: "acme", Command: "sync", StartedAt: schema.InstantOf(r.at.Add(-time.Hour)),
		FinishedAt: schema.InstantOf(r.at), ExitCode: 6, RunID: "failed"}
	if err := s.AppendRun(failed, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r.mustSync(nil)
	if string(read("ops_run/account=acme/month=2026-11-01", &runs)) != string(was) {
		t.Error("the runs of November were written again")
	}
	if read("ops_run/account=acme/month=2027-01-01", &runs); len(runs) != 2 || runs[0].ExitCode != 6 {
		t.Errorf("runs = %+v", runs)
	}
	if read(november, &days); days[len(days)-1].State != schema.StateLost {
		t.Errorf("November 2026 = %+v", days)
	}
	was = read(november, &days)
	r.at = r.at.AddDate(0, 0, 1)
	r.mustSync(nil)
	if string(read(november, &days)) != string(was) {
		t.Error("days of which nothing changed were written again")
	}

	// A damaged file of runs is made again from the ledger by the next run.
	read("ops_run/account=acme/month=2027-01-01", &runs)
	spoiled(t, filepath.Join(r.dir, "parquet/ops_run/account=acme/month=2027-01-01/data.parquet"), []byte("x"))
	r.mustSync(nil)
	checkStore(t, r.dir)
	before := runs
	if read("ops_run/account=acme/month=2027-01-01", &runs); len(runs) != len(before)+1 {
		t.Errorf("%d runs after a damage, %d before", len(runs), len(before))
	}

	// The row of a changed file is replaced, not added.
	if got := query(t, r.dir, "SELECT count(*) - count(DISTINCT path), count(*) FILTER (WHERE table_name = 'ops_run') "+
		"FROM ops.file"); got != "0|2" {
		t.Errorf("ops.file has %s", got)
	}
}
