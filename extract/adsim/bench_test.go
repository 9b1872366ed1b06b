package adsim

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/report"
)

// BenchmarkReportPage renders pages of 10000 rows of a day of a million rows, one
// after the other, and says how many rows and bytes a second.
func BenchmarkReportPage(b *testing.B) {
	for _, c := range []struct{ name, query string }{
		{"copy", finest(yesterday)},
		{"default", oneDay(yesterday) + "&include_creatives=true"},
		{"plain", oneDay(yesterday)},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := sim(config.Config{RowsPerDay: 1_000_000})
			st := s.Snapshot()
			rq, text := report.ParseReport(values(c.query+"&page_size=10000"), st.Today)
			if text != "" {
				b.Fatal(text)
			}
			size := int64(0)
			for i := 0; b.Loop(); i++ {
				rq.Page = 1 + i%50
				size += int64(len(s.report.Page(&st, rq, nil)))
			}
			perSecond(b, size)
		})
	}
}

// BenchmarkReportServed gets such pages over a socket, rendered anew or kept.
func BenchmarkReportServed(b *testing.B) {
	for _, prerender := range []bool{false, true} {
		b.Run(fmt.Sprintf("prerender=%v", prerender), func(b *testing.B) {
			s := sim(config.Config{RowsPerDay: 500_000, Prerender: prerender})
			server := httptest.NewServer(s)
			defer server.Close()
			query := finest(yesterday) + "&page_size=10000"
			if prerender {
				if _, _, err := s.Prerender(values(query)); err != nil {
					b.Fatal(err)
				}
			}
			size := int64(0)
			for i := 0; b.Loop(); i++ {
				req, err := http.NewRequest("GET", server.URL+"/report/ads/spend-report?"+query+"&page="+
					itoa(1+i%40), nil)
				if err != nil {
					b.Fatal(err)
				}
				req.SetBasicAuth(config.DefaultUser, config.DefaultPassword)
				resp, err := server.Client().Do(req)
				if err != nil {
					b.Fatal(err)
				}
				n, err := io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if err != nil || n < 1<<20 {
					b.Fatal(n, err)
				}
				size += n
			}
			perSecond(b, size)
		})
	}
}

func perSecond(b *testing.B, size int64) {
	b.ReportMetric(float64(b.N)*10_000/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(size)/1e6/b.Elapsed().Seconds(), "MB/s")
}

// BenchmarkControlTotal adds up a day of a million rows, as the control total of a
// benchmark's account does once a day and state.
func BenchmarkControlTotal(b *testing.B) {
	s := sim(config.Config{RowsPerDay: 1_000_000})
	st := s.Snapshot()
	rq, text := report.ParseReport(values(oneDay(yesterday)+"&columns=date,total_spend,clicks"), st.Today)
	if text != "" {
		b.Fatal(text)
	}
	for b.Loop() {
		st.Kept = ledger.NewCaches(s.World.Account)
		st.Group(rq.Query)
	}
}

// BenchmarkBigAccount reads an account of 1000 campaigns with three creatives
// each, as a snapshot of its settings does; 50 of them were changed.
func BenchmarkBigAccount(b *testing.B) {
	s := sim(config.Config{Campaigns: 1000, CreativesPerCampaign: 3, RateLimit: -1})
	ids := s.CampaignIDs()
	for i := range 50 {
		change(b, s, Change{Campaign: ids[i*20], Set: map[string]any{"name": itoa(i)}, Force: true})
	}
	for _, c := range []struct{ name, path, query string }{
		{"list", "/v1/campaigns", everyStatus}, {"campaign", "/v1/campaigns/%s", ""},
		{"creatives", "/v1/campaigns/%s/creatives", "?limit=100"}, {"sources", "/v1/campaigns/%s/sources", ""},
	} {
		b.Run(c.name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				query := c.query
				if c.name == "list" {
					query += "&offset=" + itoa(i%10*100)
				}
				if status, _, body := callAPI(b, s, strings.Replace(c.path, "%s", ids[i%1000], 1)+
					query); status != 200 {
					b.Fatal(status, string(body))
				}
				s.ResetRequests()
			}
		})
	}
	b.Run("change", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			change(b, s, Change{Campaign: ids[i%1000], Set: map[string]any{"name": itoa(i)}, Force: true})
		}
	})
}
