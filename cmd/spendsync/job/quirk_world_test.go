package job

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/extract/adsim"
	"spendsync/load/parquet"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// noon is the time at which the syncs with quirks start: 14:00 in Chicago.
var noon = time.Date(2026, time.November, 21, 20, 0, 0, 0, time.UTC)

// newQuirkWorld returns a world with a small account. Every run reads every day, in two pages.
func newQuirkWorld(t *testing.T, quirks ...string) *world {
	t.Helper()
	w := newWorld(t, func(c *adsim.Config) {
		c.Seed, c.Campaigns, c.CreativesPerCampaign, c.Sources, c.Quirks = 5, 7, 3, 60, quirks
	})
	w.service.SetNow(noon)
	w.job.Plan.PageSize = 20
	w.rereadAll()
	return w
}

// ran syncs once, and accepts any exit code.
func (w *world) ran() *Result {
	w.t.Helper()
	result, err := w.next().Sync(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

// days counts the days of the account by the state of the day and the state of its control total.
func days(result *Result) string {
	counts := map[string]int{}
	for _, c := range result.Coverage {
		counts[c.State+"/"+c.ControlTotalState]++
	}
	return counted(counts)
}

func counted(counts map[string]int) string {
	var list []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, fmt.Sprintf("%s %d", what, counts[what]))
	}
	return strings.Join(list, ", ")
}

// numbers returns the number of days whose stored sums differ from the service's, and the number of days that are not
// stored.
func (w *world) numbers() string {
	w.t.Helper()
	counts := map[string]int{}
	for d := schema.DateOf(noon) - 32; d <= schema.DateOf(noon); d++ {
		truth, err := w.service.TruthSum(d.String())
		if err != nil {
			w.t.Fatal(err)
		}
		rows := rowsOf(w, schema.SpendDaily, filepath.Join("account=acme", "day="+d.String()))
		var sum adsim.Sum
		for _, r := range rows {
			sum.Rows++
			sum.Spend += int64(r.Spend)
			sum.Clicks += r.Clicks.V
			sum.Impressions += r.Impressions.V
		}
		truth.Conversions = 0
		switch {
		case rows == nil && truth.Rows > 0:
			counts["not stored"]++
		case sum != truth:
			counts["other"]++
		}
	}
	return counted(counts)
}

// rowsOf reads a Parquet file of a table; nil: there is no file.
func rowsOf[R any](w *world, t schema.TableOf[R], under string) []R {
	w.t.Helper()
	rows, err := parquet.ReadRows(filepath.Join(w.job.DataDir, "parquet", t.Name, under, "data.parquet"), t)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
	return rows
}

// tried reports whether a test tries case i of a long table: one in 32 by default, one in 8 in .ci/run, and every case
// in .ci/long.
func tried(i int) bool {
	return i%schematest.Times(32, 8, 1) == 0
}
