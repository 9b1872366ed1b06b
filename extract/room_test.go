package extract

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
)

// TestSpend_ReadsEachPageIntoTheMemoryOfTheLast is why walk copies the pages.
func TestSpend_ReadsEachPageIntoTheMemoryOfTheLast(t *testing.T) {
	var first Page[SpendLine]
	for p, err := range newTestClient(t, &report{rows: lines(39)}).Spend(t.Context(), testDay, 10, nil, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if p.Number == 1 {
			first = p
		} else if &p.Raw[0] != &first.Raw[0] || &p.Items[0] != &first.Items[0] {
			t.Errorf("page %d lies elsewhere than page 1", p.Number)
		}
	}
}

// shorter are pages of which each could show what the one before left in the memory:
// longer texts, columns that a row does not have, more rows.
func shorter() []string {
	bare := strings.Replace(line(5), `"clicks":5,"impressions":100,"conversions":1`, `"clicks":5`, 1)
	rows := append(lines(3), line(4), bare, `{"campaign_id":"C2"}`, `{"source_id":"S7"}`)
	rows[1] = strings.Replace(rows[1], "Spring", strings.Repeat("Summer ", 50), 1)
	return []string{
		pageOf(rows[:3], placed(1, 3, 7, 3)),
		pageOf(rows[3:6], placed(2, 3, 7, 3)),
		pageOf(rows[6:], placed(3, 3, 7, 3)),
	}
}

// wantAlone holds the pages of a walk against their replies, each read by itself.
func wantAlone(t *testing.T, pages []Page[SpendLine], replies []string) {
	t.Helper()
	check(t, "pages", len(pages), len(replies))
	for i, p := range pages {
		alone, err := DecodeSpend(nil, []byte(replies[i]))
		if err != nil {
			t.Fatal(err)
		}
		check(t, "raw", string(p.Raw), replies[i])
		check(t, fmt.Sprintf("rows of page %d", i+1), fmt.Sprintf("%#v", p.Items), fmt.Sprintf("%#v", alone.Items))
	}
}

// spelledApart has its rows read by the strict decoder.
func spelledApart(reply string) string { return strings.Replace(reply, `"data":[`, `"data": [`, 1) }

func TestSpend_ShowsNothingOfAnEarlierPage(t *testing.T) {
	for name, spelled := range map[string]func(int, string) string{
		"template": func(_ int, reply string) string { return reply },
		"strict":   func(_ int, reply string) string { return spelledApart(reply) },
		"in-turns": func(page int, reply string) string {
			if page%2 == 0 {
				return spelledApart(reply)
			}
			return reply
		},
	} {
		t.Run(name, func(t *testing.T) {
			replies := shorter()
			for i := range replies {
				replies[i] = spelled(i+1, replies[i])
			}
			pages, err := walk(t, newTestClient(t, scripted(replies...)).Spend(t.Context(), testDay, 3, nil, nil))
			if err != nil {
				t.Fatal(err)
			}
			wantAlone(t, pages, replies)
		})
	}
}

// A reply that is refused has filled the memory, as far as it went, with rows of its own.
func TestSpend_ShowsNothingOfARefusedReply(t *testing.T) {
	whole := pageOf(lines(50), "")
	for name, refused := range map[string]string{
		"cut":            whole[:len(whole)-1],
		"cut-in-a-row":   whole[:len(whole)-30],
		"cut-apart":      spelledApart(whole[:len(whole)-30]),
		"columns":        `{"columns":` + columnsJSON + `,"data":[` + strings.Join(lines(50), ","),
		"no-json":        strings.Repeat("<html>", 1000),
		"empty":          "",
		"behind-the-end": whole + "}",
	} {
		for page := 1; page <= 3; page++ {
			t.Run(fmt.Sprintf("%s/%d", name, page), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					replies := shorter()
					s := &report{rows: lines(7), twist: func(n, try int, _ string) string {
						if n == page && try <= 2 {
							return refused
						}
						return replies[n-1]
					}}
					pages, err := walk(t, newTestClient(t, s).Spend(t.Context(), testDay, 3, nil, nil))
					if name == "behind-the-end" { // not asked for again, and quoted
						wantError(t, err, ErrContract, `1 byte after the end of the reply: "}"`)
						wantAlone(t, pages, replies[:page-1])
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					check(t, "requests", pages[page-1].Requests, 3)
					wantAlone(t, pages, replies)
				})
			})
		}
	}
}

// Walks under way at the same time have nothing in common.
func TestSpend_WalksShareNoMemory(t *testing.T) {
	replies := shorter()
	c := newTestClient(t, scripted(replies...))
	next, stop := iter.Pull2(c.Spend(t.Context(), testDay, 3, nil, nil))
	defer stop()
	for i := range replies {
		p, err, _ := next()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := walk(t, c.Spend(t.Context(), testDay, 3, nil, nil)); err != nil {
			t.Fatal(err)
		}
		wantAlone(t, []Page[SpendLine]{p}, replies[i:i+1])
	}
}

// benchmarkDay is a day of that many rows, in pages as the service sends them.
func benchmarkDay(rows int) (pages [][]byte) {
	all := make([]string, rows)
	for i := range all {
		all[i] = fmt.Sprintf(`{"date":"2026-03-08","campaign_id":"C%07d","campaign_name":"Spring sale – `+
			`retargeting US %d",`+
			`"creative_id":"C%07d-%03d","source_id":"S%d","total_spend":%d.%02d,"clicks":%d,"impressions":%d,`+
			`"conversions":%d}`,
			1000000+i/500, i/500, 1000000+i/500, i%500/50, 10000+i%5000, i%70, i%100, i%400, i*7%90000, i%9)
	}
	n := (rows + MaxPageSize - 1) / MaxPageSize
	for i := range n {
		pages = append(pages, []byte(pageOf(all[i*MaxPageSize:min((i+1)*MaxPageSize, rows)],
			placed(i+1, MaxPageSize, rows, n))))
	}
	return append(pages, []byte(pageOf(nil, placed(n+1, MaxPageSize, rows, n)))) // asked for behind a full last page
}

// BenchmarkSpend walks a day, and does nothing with its pages.
func BenchmarkSpend(b *testing.B) {
	for name, tc := range map[string]struct {
		rows int
		told bool // how long a reply is
	}{
		"10-pages":         {10 * MaxPageSize, true},
		"10-pages/chunked": {10 * MaxPageSize, false},
		"a-millionth-day":  {1_000_000 / 33, true}, // a day of a report of a million rows
	} {
		b.Run(name, func(b *testing.B) {
			pages := benchmarkDay(tc.rows)
			c, err := NewClient(Options{
				BaseURL:   "https://report.test",
				Authorize: func(r *http.Request) { r.SetBasicAuth("analyst@example.com", "sim-password") },
				Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					n, _ := strconv.Atoi(r.URL.Query().Get("page"))
					resp := &http.Response{StatusCode: 200, Header: http.Header{}, ContentLength: -1,
						Body: io.NopCloser(bytes.NewReader(pages[n-1]))}
					if tc.told {
						resp.ContentLength = int64(len(pages[n-1]))
					}
					return resp, nil
				}),
			})
			if err != nil {
				b.Fatal(err)
			}
			size := 0
			for _, p := range pages {
				size += len(p)
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range c.Spend(b.Context(), testDay, 0, nil, nil) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
