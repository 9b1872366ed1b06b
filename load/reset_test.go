package load

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/loadtest"
	"spendsync/load/quarantine"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// reset resets the account of a run.
func (r run) reset() (Reset, error) {
	r.t.Helper()
	r.opts.Now = func() time.Time { return r.at }
	s, err := Open(r.t.Context(), r.dir, r.account, r.opts)
	if err != nil {
		return Reset{}, err
	}
	defer s.Close()
	runs++
	return s.Reset(r.t.Context(), fmt.Sprintf("run%06d", runs))
}

// filesOf returns the files of an account below a folder.
func filesOf(t *testing.T, dir, account string) map[string]string {
	all := loadtest.Files(t, dir)
	maps.DeleteFunc(all, func(path, _ string) bool {
		return !strings.Contains(path, "/account="+account+"/") || strings.HasPrefix(path, asideFolder+"/")
	})
	return all
}

// withTwoAccounts returns a store with acme and another account, and a day of acme in quarantine.
func withTwoAccounts(t *testing.T, dir string) run {
	t.Helper()
	r := newRun(t, dir)
	r.mustSync(twoDays())
	other := r
	other.account = "other"
	other.mustSync(twoDays())
	f := quarantine.Folder{Disk: durable.OS, Dir: dir, Account: r.account}
	kept := quarantine.Day{Date: day, ReadAt: schema.InstantOf(r.at)}
	err := f.Put(kept, func(yield func(quarantine.Packed, error) bool) {
		yield(quarantine.Packed{Content: []byte("a reply")}, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestReset_MovesTheAccountAside: every byte of the account is moved aside, no byte of other accounts has changed, and
// the next sync starts with an empty account.
func TestReset_MovesTheAccountAside(t *testing.T) {
	r := withTwoAccounts(t, filepath.Join(quickDir(t), "data"))
	mine, others := filesOf(t, r.dir, "acme"), filesOf(t, r.dir, "other")
	done, err := r.reset()
	if err != nil {
		t.Fatal(err)
	}
	if report := checkStore(t, r.dir); report.Generation != 3 || done.Generation != 3 || report.Days != 2 {
		t.Errorf("generation %d with %d days: %+v", report.Generation, report.Days, done)
	}
	if got := loadtest.Files(t, filepath.Join(r.dir, done.Aside)); !maps.Equal(got, mine) || len(got) != done.Files {
		t.Errorf("aside are %q, want %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(mine)))
	}
	// The remaining account needs no account file any more.
	ofAlone := func(path, _ string) bool {
		return path == duck.AccountFile("other") || strings.HasPrefix(path, "manifest/")
	}
	maps.DeleteFunc(others, ofAlone)
	got := filesOf(t, r.dir, "other")
	if maps.DeleteFunc(got, ofAlone); !maps.Equal(got, others) {
		t.Error("files of the other account changed")
	}
	if got := filesOf(t, r.dir, "acme"); len(got) > 0 {
		t.Errorf("of the account are left: %q", slices.Sorted(maps.Keys(got)))
	}
	for _, table := range []string{"spend_daily", "ops.run", "ops.file", "ops.day_coverage"} {
		if got := query(t, r.dir, "SELECT DISTINCT account_id FROM "+table); got != "other" {
			t.Errorf("%s has rows of %q", table, got)
		}
	}
	if _, err := r.reset(); !errors.Is(err, durable.ErrEmpty) {
		t.Errorf("a second reset = %v, want ErrEmpty", err)
	}
	r.mustSync(map[schema.Date][]schema.Spend{day: {schematest.SpendRow(day, "S9", 9)}})
	if got := query(t, r.dir, "SELECT source_id FROM spend_daily WHERE account_id = 'acme'"); got != "S9" {
		t.Errorf("after the next sync: %q", got)
	}
}

// TestReset_LastAccount: a store without accounts is intact, and a sync can start on it.
func TestReset_LastAccount(t *testing.T) {
	r := newRun(t, filepath.Join(quickDir(t), "data"))
	r.mustSync(twoDays())
	if _, err := r.reset(); err != nil {
		t.Fatal(err)
	}
	if report := checkStore(t, r.dir); report.Generation != 2 || report.Rows != 0 {
		t.Errorf("generation %d with %d rows", report.Generation, report.Rows)
	}
	if m := r.mustSync(twoDays()); m.Generation != 3 || len(m.Accounts["acme"].Days) != 2 {
		t.Errorf("generation %d with %d days", m.Generation, len(m.Accounts["acme"].Days))
	}
}
