package job

import (
	"io"
	"log/slog"
	"testing"

	"spendsync/load/history"
	"spendsync/schema"
)

// TestOpenDay_OfARenamedCampaign: of an open day that nothing proves, rows under two names are parts of a row, as
// another implementation of the service sent them, and rows under one name are the same row at two moments.
func TestOpenDay_OfARenamedCampaign(t *testing.T) {
	day := schema.Date(20500)
	for names, want := range map[[2]string]schema.Money{{"A", "B"}: 5, {"A", "A"}: 3} {
		var reads []*dayRead
		for range 2 {
			rows := &schema.SpendRows{}
			for i, name := range names {
				rows.Append(&schema.Spend{CampaignID: "C1", CampaignName: name, CreativeID: "C1-1", SourceID: "S1",
					ReportDate: day, Spend: schema.Money(2 + i)})
			}
			history.Repeats(rows) // sorts them
			reads = append(reads, &dayRead{rows: rows, pages: 2, at: schema.InstantOf(day.Start())})
		}
		s := &session{}
		s.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
		best := (&dayReader{s: s}).bestOf(day, reads, nil)
		if best == nil || best.sums.Spend != want || best.sums.Rows != 1 {
			t.Errorf("%q: %+v, want a spend of %d", names, best, want)
		}
	}
}
