package transform

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"spendsync/extract"
	"spendsync/schema"
)

// FuzzSpend: every line that the decoder accepts becomes a row that keeps the rules of the table, or a RowError.
func FuzzSpend(f *testing.F) {
	files, _ := filepath.Glob("../testdata/pages/spend/*.json")
	for _, name := range files {
		body, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := extract.DecodeSpend(nil, body)
		if err != nil {
			return
		}
		rows, _, _ := spendOf(p, run, NewInterner())
		became := AppendSpend(&schema.SpendRows{}, p, run, NewInterner())
		if len(rows)+len(became.Refused) != len(p.Items) {
			t.Fatalf("%d rows and %d refused of %d", len(rows), len(became.Refused), len(p.Items))
		}
		for _, r := range became.Refused {
			if !json.Valid([]byte(r.JSON)) || strings.ContainsAny(r.Error(), "\n\r\x00\x1b") {
				t.Fatalf("refused %+v", r)
			}
		}
		for _, r := range rows {
			ok := r.ReportDate == day && r.Spend <= schema.MaxMoney && r.Spend >= -schema.MaxMoney &&
				(r.Spend <= 0 || r.Clicks.V >= 0 && r.Impressions.V >= 0 && r.Conversions.V >= 0)
			for _, id := range []string{r.CampaignID, r.CreativeID, r.SourceID} {
				ok = ok && len(id) <= maxID && !strings.ContainsRune(id, utf8.RuneError)
			}
			for _, s := range []string{r.CampaignID, r.CreativeID, r.SourceID, r.CampaignName} {
				ok = ok && utf8.ValidString(s) && !strings.ContainsRune(s, 0)
			}
			if !ok {
				t.Fatalf("row %+v", r)
			}
		}
	})
}

func BenchmarkSpend(b *testing.B) {
	var data strings.Builder
	const n = 10_000
	for i := range n {
		fmt.Fprintf(&data, `%s{"date":"2026-03-08","campaign_id":"C%07d","campaign_name":"Spring sale – `+
			`retargeting US %d",`+
			`"creative_id":"C%07d-%03d","source_id":"S%d","total_spend":%d.%02d,"clicks":%d,"impressions":%d,`+
			`"conversions":%d}`,
			map[bool]string{true: "", false: ","}[i == 0],
			1000000+i/500, i/500, 1000000+i/500, i%500/50, 10000+i%5000, i%70, i%100, i%400, i*7%90000, i%9)
	}
	body := []byte(`{"columns":["date","campaign_id","campaign_name","creative_id","source_id","total_spend",` +
		`"clicks","impressions","conversions"],` +
		`"data":[` + data.String() + `],"pagination":{"page":1,"page_size":10000,"total_rows":10000,"total_pages":1}}`)
	var day schema.SpendRows
	intern := NewInterner() // shared by all pages of the day, so only the first page stores the texts
	for name, work := range map[string]func() error{
		"decode+transform": func() error {
			p, err := extract.DecodeSpend(nil, body)
			if err == nil {
				day.Reset()
				AppendSpend(&day, p, run, intern)
			}
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if err := work(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
		})
	}
}
