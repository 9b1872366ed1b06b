package extract

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// FuzzPages: whatever two replies the service sends as the pages of a day, the walk returns the rows of that day, each
// once, or an error of a known kind.
func FuzzPages(f *testing.F) {
	rows := lines(5)
	f.Add([]byte(pageOf(rows[:3], placed(1, 3, 5, 2))), []byte(pageOf(rows[3:], placed(2, 3, 5, 2))))
	f.Add([]byte(pageOf(rows[:3], placed(1, 3, 5, 2))), []byte(pageOf(rows[2:], placed(2, 3, 6, 2))))
	f.Add([]byte(pageOf(rows[:2], "")), []byte(""))
	f.Add([]byte(pageOf(nil, placed(1, 3, 0, 0))), []byte("null"))
	f.Add([]byte(pageOf([]string{`{"source_id":null}`, `{"source_id":""}`, `{}`}, placed(1, 3, 4, 2))),
		[]byte(pageOf(rows[:1], placed(2, 3, 4, 2))))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		synctest.Test(t, func(t *testing.T) {
			bodies := map[string][]byte{"1": first, "2": second}
			c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
				body, ok := bodies[r.URL.Query().Get("page")]
				if !ok {
					return answerWith(404, "")
				}
				return answerWith(200, string(body))
			}), func(o *Options) { o.RetryBudget = time.Second })
			pages, err := walk(t, dayOf(t.Context(), c, testDay, 3))
			if err != nil {
				_, unproven := errors.AsType[*UnprovenError](err)
				isKnown := unproven || errors.Is(err, ErrContract) || errors.Is(err, ErrUnavailable)
				if !isKnown || strings.ContainsAny(err.Error(), "\n\r\x00\x1b") {
					t.Errorf("error %q of no kind, or not on one line", err)
				}
				return
			}
			total := int64(0)
			for i, p := range pages {
				if p.Number != i+1 || !bytes.Equal(p.Raw, bodies[[]string{"1", "2"}[i]]) {
					t.Errorf("page %d of %d", p.Number, len(pages))
				}
				alone, err := DecodeSpend(nil, bytes.Clone(p.Raw))
				if err != nil || fmt.Sprintf("%q", alone.Items) != fmt.Sprintf("%q", p.Items) {
					t.Errorf("page %d has %q, its reply %q, %v", p.Number, p.Items, alone.Items, err)
				}
				total += int64(len(p.Items))
			}
			if len(pages) > 0 && pages[0].Total >= 0 && total != pages[0].Total {
				t.Errorf("%d rows, the total is %d", total, pages[0].Total)
			}
		})
	})
}

// FuzzTotals: any reply leads to totals for the requested days, to a reason why there are none, or to ErrContract.
func FuzzTotals(f *testing.F) {
	f.Add([]byte(`{"columns":["date","total_spend","clicks"],"data":[{"date":"2026-03-08","total_spend":1.25,` +
		`"clicks":5}],"pagination":{"page":1,"page_size":1000,"total_rows":1,"total_pages":1}}`))
	f.Add([]byte(`{"columns":["date","total_spend","clicks"],"data":[{"date":"2026-03-08","total_spend":1e2},` +
		`{"date":"2026-03-08","total_spend":0}]}`))
	f.Add([]byte(`{"columns":["date","total_spend","clicks"],"data":[{"date":"2026-03-10","total_spend":-1,` +
		`"clicks":1.0}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		synctest.Test(t, func(t *testing.T) {
			c := newTestClient(t, roundTrip(status(200, string(body))), func(o *Options) {
				o.RetryBudget = time.Second
			})
			totals, err := c.ControlTotals(t.Context(), testDay, testDay+1)
			switch {
			case err != nil:
				if !errors.Is(err, ErrContract) || totals.Exists || strings.ContainsAny(err.Error(), "\n\r\x00\x1b") {
					t.Errorf("totals %+v, error %q", totals, err)
				}
			case totals.Exists:
				for day := range totals.ByDay {
					if len(totals.ByDay) != 2 || day < testDay || day > testDay+1 {
						t.Errorf("totals %+v", totals)
					}
				}
			case totals.Why == "":
				t.Error("no totals, and no word of why")
			}
		})
	})
}

// FuzzEntities: a reply of the advertiser API decodes to the requested entity, complete and valid, or to an error of a
// known kind.
func FuzzEntities(f *testing.F) {
	for _, body := range []string{
		`{"id":"C1000001","name":"x","audience":{}}`, `{"data":{"campaign":{"id":"C1000001"}}}`,
		`{"source_settings":{"mode":"block_list","blocked":[]}}`,
		`{"creatives":[{"id":"C1000001-001"}],"total":1}`, `[{"creative_id":"C1000001-001","id":"C1000002-001"}]`,
		`{"advertiser_id":"adv_1"}`, `{"limits":[]}`, `null`, `{"id":`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		synctest.Test(t, func(t *testing.T) {
			c := newTestClient(t, roundTrip(status(200, string(body))), func(o *Options) {
				o.RetryBudget = time.Second
			})
			campaign, err1 := c.Campaign(t.Context(), "C1000001")
			sources, err2 := c.Sources(t.Context(), "C1000001")
			me, err3 := c.Me(t.Context())
			creatives, err4 := c.Creatives(t.Context(), "C1000001")
			for _, err := range []error{err1, err2, err3, err4} {
				isKnown := errors.Is(err, ErrContract) || errors.Is(err, ErrUnavailable)
				if err != nil && (!isKnown || strings.ContainsAny(err.Error(), "\n\r\x00\x1b") ||
					len(err.Error()) > 2000) {
					t.Errorf("error %q of no kind, or not on one line", err)
				}
			}
			for i, e := range append([]Entity{campaign, sources, me}, creatives.Entities...) {
				failed := []error{err1, err2, err3, nil}[min(i, 3)]
				if _, ok := Value(e.Raw).Object(); failed == nil && !ok && !bytes.HasPrefix(e.Raw, []byte("[")) {
					t.Errorf("entity %d is %s", i, e.Raw)
				}
				if i < 2 && failed == nil && !strings.HasPrefix(e.ID, "C1000001") {
					t.Errorf("entity %d is about %s", i, e.ID)
				}
			}
		})
	})
}

// FuzzErrorBody: for any body and headers of an error reply, the read ends with an error of the kind that belongs to
// the status. Its text is one line, without the credentials.
func FuzzErrorBody(f *testing.F) {
	f.Add(uint16(400), "start_date cannot be more than 32 days before today", "", "")
	f.Add(uint16(500), `{"error":{"message":"open-sesame","request_id":"req_YW5uOm9wZW4tc2VzYW1l"}}`,
		"YW5uOm9wZW4tc2VzYW1l", "3")
	f.Add(uint16(302), "", "", "99999999999999999999")
	f.Add(uint16(429), "\x00\x1b[31m", "open-sesame", "Sat, 01 Jan 2000 00:00:10 GMT")
	f.Fuzz(func(t *testing.T, code uint16, body, id, wait string) {
		code = 201 + code%399
		synctest.Test(t, func(t *testing.T) {
			c := newTestClient(t, roundTrip(status(int(code), body, "X-Request-Id", id, "Retry-After", wait, "Location",
				body)), func(o *Options) { o.RetryBudget = time.Second })
			_, err := walk(t, dayOf(t.Context(), c, testDay, 3))
			kind := ErrContract
			switch {
			case strings.TrimSpace(wait) != "", code == 408, code == 425, code == 429, code >= 500,
				code >= 400 && isLimit(body):
				kind = ErrUnavailable
			case code == 401, code == 403:
				kind = ErrAuth
			}
			if !errors.Is(err, kind) && !(code == 400 && errors.Is(err, ErrUnreachable)) {
				t.Errorf("status %d: %v, want %v", code, err, kind)
			}
			text := err.Error()
			if strings.ContainsAny(text, "\n\r\x00\x1b") || len(text) > 2000 || strings.Contains(text, "open-sesame") ||
				strings.Contains(text, "YW5uOm9wZW4tc2VzYW1l") {
				t.Errorf("status %d: %q", code, text)
			}
		})
	})
}
