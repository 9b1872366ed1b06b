package adsim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/wire"
)

// pageOf asks for a page of ten rows of yesterday.
func pageOf(page int) string { return finest(yesterday) + "&page_size=10&page=" + itoa(page) }

func TestFault_StatusWithAndWithoutRetryAfter(t *testing.T) {
	s := sim(config.Config{})
	s.Fail(wire.Fault{Kind: wire.Status, Status: 503, Times: 1})
	s.Fail(wire.Fault{Kind: wire.Status, Status: 429, RetryAfter: "7", Times: 1})
	s.Fail(wire.Fault{Kind: wire.Status, Status: 429, RetryAfter: "+90s", Times: 1})
	s.Fail(wire.Fault{Kind: wire.Status, Status: 500, Times: 1})
	s.Fail(wire.Fault{Kind: wire.Status, Status: 403, Times: 1})
	s.Fail(wire.Fault{Kind: wire.Status, Status: 302, Location: "http://other.example/", Times: 1})
	for _, c := range []struct {
		status            int
		text, after, goTo string
	}{
		{503, `{"error":"Service Unavailable"}`, "", ""},
		{429, `{"error":"Too Many Requests"}`, "7", ""},
		{429, `{"error":"Too Many Requests"}`, "Sat, 21 Nov 2026 20:01:30 GMT", ""},
		{500, `{"error":"Internal server error (request ID: req_`, "", ""},
		{403, `{"error":"User account not confirmed. Please check your email."}`, "", ""},
		{302, `{"error":"Found"}`, "", "http://other.example/"},
		{200, `{"columns":`, "", ""},
	} {
		status, h, body := ask(t, s, pageOf(1))
		if status != c.status || !strings.HasPrefix(string(body), c.text) || h.Get("Retry-After") != c.after ||
			h.Get("Location") != c.goTo {
			t.Errorf("got %d %s %v, want %+v", status, head(body), h, c)
		}
	}
	s.Fail(wire.Fault{Kind: wire.Status, Status: 429, Path: "/v1/me"})
	_, _, body := do(t, s, "GET", "http://sim/api/v1/me", nil)
	if !bytes.HasPrefix(body, []byte(`{"error":{"code":"rate_limited","message":`)) {
		t.Errorf("the API says %s", body)
	}
}

func TestFault_FitsByPathQueryDayAndPage(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault wire.Fault
		hit   []bool // page 1 of yesterday, page 2, page 3; then page 1 of the day before, and all again
	}{
		{"everything", wire.Fault{}, []bool{true, true, true, true, true, true, true, true}},
		{"path", wire.Fault{Path: "/ads/spend-report"}, []bool{true, true, true, true, true, true, true, true}},
		{"path/mounted", wire.Fault{Path: "/report/*/spend-report"}, []bool{true, true, true, true, true, true, true,
			true}},
		{"path/other", wire.Fault{Path: "/v1/*"}, []bool{false, false, false, false, false, false, false, false}},
		{"day", wire.Fault{Day: yesterday}, []bool{true, true, true, false, true, true, true, false}},
		{"page", wire.Fault{Page: 2}, []bool{false, true, false, false, false, true, false, false}},
		{"times", wire.Fault{Times: 2, Day: yesterday}, []bool{true, true, false, false, false, false, false, false}},
		{"query", wire.Fault{Query: "page=3&include_creatives=true"}, []bool{false, false, true, false, false, false,
			true, false}},
		{"query/absent", wire.Fault{Query: "source_id="}, []bool{true, true, true, true, true, true, true, true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := sim(config.Config{})
			c.fault.Kind, c.fault.Status = wire.Status, 500
			s.Fail(c.fault)
			for i, want := range c.hit {
				query := pageOf(i%4 + 1)
				if i%4 == 3 {
					query = finest("2026-11-19") + "&page_size=10&page=1"
				}
				if status, _, _ := ask(t, s, query); (status == 500) != want {
					t.Errorf("request %d: status %d", i, status)
				}
			}
			s.ClearFaults()
			if status, _, _ := ask(t, s, pageOf(1)); status != 200 {
				t.Errorf("cleared: status %d", status)
			}
		})
	}
}

func TestFault_ValuesThatDoNotBelong(t *testing.T) {
	for _, c := range []struct {
		fault wire.Fault
		want  string // in the row, if it is JSON
	}{
		{wire.Fault{Kind: wire.WrongType, Column: "total_spend", Row: 4}, `"total_spend":"12.50"`},
		{wire.Fault{Kind: wire.WrongType, Column: "total_spend", Row: 4, Value: "1e400"}, `"total_spend":1e400`},
		{wire.Fault{Kind: wire.WrongType, Column: "total_spend", Row: 4, Value: `"NaN"`}, `"total_spend":"NaN"`},
		{wire.Fault{Kind: wire.WrongType, Column: "clicks", Row: 4, Value: "1.5"}, `"clicks":1.5`},
		{wire.Fault{Kind: wire.WrongType, Column: "date", Row: 4, Value: "null"}, `{"date":null,`},
		{wire.Fault{Kind: wire.WrongType, Column: "campaign_name", Row: 4, Value: "\"\xff\""},
			"\"campaign_name\":\"\xff\""},
		{wire.Fault{Kind: wire.ExtraKey, Row: 4}, `,"unknown_key":{"since"`},
		{wire.Fault{Kind: wire.RepeatKey, Column: "clicks", Row: 4, Value: "777"}, `,"clicks":777,`},
		{wire.Fault{Kind: wire.OtherDay, Row: 4}, `{"date":"2026-11-19",`},
		{wire.Fault{Kind: wire.Top, Column: "total_rows", Value: `"12"`}, `"total_rows":"12"`},
		{wire.Fault{Kind: wire.Top, Column: "pagination", Value: `null`}, `"pagination":null}`},
		{wire.Fault{Kind: wire.Top, Column: "data", Value: `{}`}, `"data":{},`},
		{wire.Fault{Kind: wire.Top, Column: "columns", Value: `[]`}, `{"columns":[],`},
		{wire.Fault{Kind: wire.Top, Column: "warnings", Value: `["late"]`}, `},"warnings":["late"]}`},
	} {
		s := sim(config.Config{})
		_, _, want := ask(t, s, pageOf(2))
		s.Fail(c.fault)
		_, _, got := ask(t, s, pageOf(2))
		if bytes.Count(got, []byte(c.want)) != 1 || bytes.Equal(got, want) {
			t.Errorf("%+v: no %s in %s", c.fault, c.want, got)
		}
	}
	s := sim(config.Config{})
	s.Fail(wire.Fault{Kind: wire.MissingKey, Column: "clicks", Row: -1})
	for _, row := range reportOf(t, s, pageOf(2)).Data {
		if _, has := row["clicks"]; has || len(row) != 8 {
			t.Errorf("got %v", row)
		}
	}
	s = sim(config.Config{})
	s.Fail(wire.Fault{Kind: wire.NoPagination})
	if r := reportOf(t, s, pageOf(2)); r.Pagination != nil || len(r.Data) != 10 {
		t.Errorf("got %d rows and %v", len(r.Data), r.Pagination)
	}
}

// wireClients reach a service without and with a socket.
func wireClients(t *testing.T, s *Service) map[string]*http.Client {
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	toServer := &http.Transport{DisableKeepAlives: true}
	return map[string]*http.Client{
		"transport": {Transport: s.Transport()},
		"socket": {Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.URL.Host = strings.TrimPrefix(server.URL, "http://")
			return toServer.RoundTrip(r)
		})},
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// fetchAll gets a page, however far that goes.
func fetchAll(ctx context.Context, c *http.Client) (size int64, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, "GET", "http://sim/report/ads/spend-report?"+pageOf(1), nil)
	if err != nil {
		return 0, nil, err
	}
	req.SetBasicAuth(config.DefaultUser, config.DefaultPassword)
	resp, err := c.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp.ContentLength, body, err
}

func TestFault_OnTheWire(t *testing.T) {
	s := sim(config.Config{})
	for name, client := range wireClients(t, s) {
		ctx := t.Context()
		whole, want, err := fetchAll(ctx, client)
		if err != nil || whole != int64(len(want)) || whole < 1000 {
			t.Fatalf("%s: %d of %d bytes, %v", name, len(want), whole, err)
		}
		for _, c := range []struct {
			fault wire.Fault
			size  int64 // Content-Length
			got   int   // bytes
			err   error
		}{
			{wire.Fault{Kind: wire.Cut}, whole, len(want) / 2, io.ErrUnexpectedEOF},
			{wire.Fault{Kind: wire.Cut, After: 17}, whole, 17, io.ErrUnexpectedEOF},
			{wire.Fault{Kind: wire.Cut, After: -1}, whole, 0, io.ErrUnexpectedEOF},
			{wire.Fault{Kind: wire.Cut, After: 17, Chunked: true}, -1, 17, io.ErrUnexpectedEOF},
			{wire.Fault{Kind: wire.Reset}, 0, 0, syscall.ECONNRESET},
			{wire.Fault{Kind: wire.Reset, After: 17}, whole, -1, syscall.ECONNRESET},
			{wire.Fault{Kind: wire.Slow, After: 500, For: time.Microsecond}, whole, len(want), nil},
			{wire.Fault{Kind: wire.Stall, After: 17, For: time.Microsecond}, whole, len(want), nil},
			{wire.Fault{Kind: wire.Hang, For: time.Microsecond}, whole, len(want), nil},
		} {
			c.fault.Times = 1
			s.Fail(c.fault)
			size, body, err := fetchAll(ctx, client)
			if !errors.Is(err, c.err) {
				t.Errorf("%s %+v: error %v, want %v", name, c.fault, err, c.err)
			}
			// A reset may swallow what was sent before it.
			if c.got >= 0 && (size != c.size || !bytes.Equal(body, want[:c.got])) {
				t.Errorf("%s %+v: got %d of %d bytes, want %d of %d", name, c.fault, len(body), size, c.got, c.size)
			}
		}
		for _, kind := range []wire.Kind{wire.Stall, wire.Hang} {
			s.Fail(wire.Fault{Kind: kind, After: 17, Times: 1})
			ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			if _, body, err := fetchAll(ctx, client); !errors.Is(err, context.DeadlineExceeded) || len(body) > 17 {
				t.Errorf("%s %s: got %d bytes and %v, want at most 17 and the deadline", name, kind, len(body), err)
			}
			cancel()
		}
	}
}

func TestRequests_TellWhatWasAsked(t *testing.T) {
	s := sim(config.Config{})
	s.Fail(wire.Fault{Kind: wire.Status, Status: 503, Times: 1})
	for range 2 {
		ask(t, s, pageOf(1))
	}
	_, _, body := ask(t, s, pageOf(1))
	s.Fail(wire.Fault{Kind: wire.Status, Status: 503, Path: "/v1/me"})
	do(t, s, "GET", "http://sim/api/v1/me", nil)
	var got []string
	for _, r := range s.Requests() {
		got = append(got, fmt.Sprintln(r.Time.Equal(noon), r.Method, r.Path, r.Query == pageOf(1), r.Fault, r.Status,
			r.Bytes == int64(len(body))))
	}
	want := []string{"true GET /report/ads/spend-report true status 503 false",
		"true GET /report/ads/spend-report true  200 true", "true GET /report/ads/spend-report true  200 true",
		"true GET /api/v1/me false status 503 false"}
	for i := range want {
		if fields := strings.Fields(got[i]); strings.Join(fields, " ") != strings.Join(strings.Fields(want[i]), " ") {
			t.Errorf("got %s, want %s", got[i], want[i])
		}
	}
}

func TestService_MayBeUsedByManyAtOnce(t *testing.T) {
	s := sim(config.Config{RowsPerDay: 300, RateLimit: -1})
	var wait sync.WaitGroup
	id := s.CampaignIDs()[0]
	for worker := range 8 {
		wait.Go(func() {
			for i := range 5 {
				switch worker {
				case 0:
					s.Advance(time.Hour)
				case 1:
					if _, err := s.Restate(yesterday, ledger.Restatement{Kind: "delete", Row: i}); err != nil {
						t.Error(err)
					}
				case 2:
					s.Fail(wire.Fault{Kind: wire.Drop, Times: 1})
					callAPI(t, s, "/v1/campaigns")
				case 3:
					for range s.Truth(yesterday) {
						_ = s.Requests()
						break
					}
					callAPI(t, s, "/v1/balance")
				case 4:
					made := create(t, s, Change{Set: map[string]any{"name": itoa(i)}})
					create(t, s, Change{Campaign: made})
					change(t, s, Change{Campaign: id, Set: map[string]any{"name": itoa(i)}, Force: true})
				case 5:
					settingsOf(t, s, id)
					callAPI(t, s, "/v1/campaigns/"+id)
					callAPI(t, s, "/v1/campaigns/"+id+"/sources")
					callAPI(t, s, "/v1/campaigns/"+id+"/creatives")
				default:
					ask(t, s, pageOf(i+1))
					ask(t, s, oneDay(yesterday)+"&columns=source_id,total_spend")
				}
			}
		})
	}
	wait.Wait()
}
