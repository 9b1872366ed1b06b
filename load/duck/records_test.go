package duck

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"

	"spendsync/load/history"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// TestTableRecords asks for as many rows as are fetched at once, more and less: all come,
// in the order of their keys, in records that are full but the last.
func TestTableRecords(t *testing.T) {
	ctx := t.Context()
	conn, stop, err := openEngine(ctx, Options{}, t.TempDir(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for _, n := range []int{0, 1, parquet.RecordRows, answerRows - 1, answerRows, answerRows + 1, 2*answerRows +
		parquet.RecordRows, 3*answerRows + 5} {
		var want []schema.Spend
		for i := range n {
			r := schema.Spend{
				AccountID: "it's", ReportDate: day + schema.Date(i%3), CampaignID: fmt.Sprint("C", i%7),
				CreativeID: fmt.Sprint("R", i%11/10), SourceID: fmt.Sprint("'\x00", i),
				Spend: schema.Money(i) - 5, FirstSeenAt: schema.Instant(i), ChangedAt: -1, RunID: "r",
			}
			if i%2 == 0 {
				r.Clicks = schema.Some(int64(i))
			}
			want = append(want, r)
		}
		err := execAll(ctx, conn, []string{fmt.Sprintf(`CREATE OR REPLACE TABLE big AS SELECT 'it''s' AS account_id,
			DATE '%s' + (i %% 3)::INTEGER AS report_date,
			'C' || i %% 7 AS campaign_id, 'R' || i %% 11 // 10 AS creative_id, '''' || chr(0) || i AS source_id, ''
			AS campaign_name, ((i - 5) / 1000000)::DECIMAL(18, 6) AS spend,
			if(i %% 2 = 0, i, NULL) AS clicks, NULL::BIGINT AS impressions, NULL::BIGINT AS conversions,
			NULL::DECIMAL(18, 6) AS conversions_fractional,
			make_timestamptz(i) AS _first_seen_at, make_timestamptz(-1) AS _changed_at, 'r' AS _run_id FROM range(%d)
			AS r (i)`, day, n)})
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(want, func(a, b schema.Spend) int {
			return cmp.Or(cmp.Compare(a.ReportDate, b.ReportDate), history.CompareKeys(&a, &b))
		})
		ask := func() iter.Seq2[arrow.Record, error] {
			return tableRecords(ctx, conn, schema.SpendDaily.Table, "SELECT "+schema.SpendDaily.SQLColumns()+
				" FROM memory.main.big", "true")
		}
		for range ask() {
			break // what a loop that was left has made is not in the way
		}
		var got []schema.Spend
		for rec, err := range ask() {
			if err != nil {
				t.Fatal(n, err)
			}
			if len(got)%parquet.RecordRows != 0 {
				t.Errorf("%d rows: a record follows after %d", n, len(got))
			}
			if got, err = schema.SpendDaily.AppendRows(got, rec); err != nil {
				t.Fatal(err)
			}
			for i := range got[len(got)-int(rec.NumRows()):] { // the record's memory is lent
				r := &got[len(got)-1-i]
				for _, s := range []*string{&r.AccountID, &r.CampaignID, &r.CreativeID, &r.SourceID, &r.CampaignName,
					&r.RunID} {
					*s = strings.Clone(*s)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d rows: %d came, or others", n, len(got))
		}
	}
	for _, column := range []string{"account_id", "source_id"} { // the first and the last of the key
		if err := execAll(ctx, conn, []string{"UPDATE big SET " + column + " = NULL WHERE campaign_id = 'C3'"}); err !=
			nil {
			t.Fatal(err)
		}
		var refused error
		for _, err := range tableRecords(ctx, conn, schema.SpendDaily.Table, "SELECT "+schema.SpendDaily.SQLColumns()+
			" FROM memory.main.big", "true") {
			refused = errors.Join(refused, err)
		}
		if refused == nil {
			t.Errorf("rows whose %s is NULL are left out, and nobody is told", column)
		}
	}
}
