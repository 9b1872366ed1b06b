package extract

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"spendsync/extract/adsim"
	"spendsync/schema"
)

// stream is one kind of question, as a fault of the simulated service meets it.
type stream struct {
	name  string
	fault adsim.Fault // where a fault strikes
	// places are the first, a middle and the last page; one for what has no pages.
	places []func(*adsim.Fault)
	// of the report and the API: what was read, as a text
	read func(context.Context, *Client, *Client) (string, error)
}

func onPage(n int) func(*adsim.Fault) { return func(f *adsim.Fault) { f.Page = n } }

func onOffset(n int) func(*adsim.Fault) {
	return func(f *adsim.Fault) { f.Query = fmt.Sprintf("offset=%d", n) }
}

var anywhere = []func(*adsim.Fault){func(*adsim.Fault) {}}

// pagesText is what a walk brought, without what a fault may add.
func pagesText[T any](pages func(func(Page[T], error) bool), shown func(T) string) (string, error) {
	var b strings.Builder
	for p, err := range pages {
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "page %d of %d, %d rows\n", p.Number, p.Pages, p.Total)
		for _, item := range p.Items {
			b.WriteString(shown(item) + "\n")
		}
	}
	return b.String(), nil
}

func entityText(e Entity, err error) (string, error) { return e.ID + " " + string(e.Raw), err }

func listingText(l Listing, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s complete: %v", strings.Join(idsOf(l), " "), l.Complete), nil
}

// streams are all questions that the client asks.
func streams(s *adsim.Service) []stream {
	today := schema.DateOf(adsimNow)
	campaign := s.CampaignIDs()[0]
	path := "/v1/campaigns/" + campaign
	three := []func(*adsim.Fault){onPage(1), onPage(2), onPage(3)}
	return []stream{
		{"pages", adsim.Fault{Day: testDay.String(), Query: "include_creatives=true"}, three,
			func(ctx context.Context, report, _ *Client) (string, error) {
				return pagesText(report.Spend(ctx, testDay, 60, nil, nil), func(l SpendLine) string {
					return fmt.Sprintf("%s", l)
				})
			}},
		{"totals", adsim.Fault{Query: "columns=date,total_spend,clicks"}, anywhere, func(ctx context.Context, report,
			_ *Client) (string, error) {
			t, err := report.ControlTotals(ctx, testDay, testDay+1)
			return fmt.Sprint(t), err
		}},
		{"creatives-of-the-report", adsim.Fault{Query: "columns=" + strings.Join(creativeColumns, ",")}, three,
			func(ctx context.Context, report, _ *Client) (string, error) {
				return pagesText(report.ReportCreatives(ctx, today-1, today, 250), func(l CreativeLine) string {
					return fmt.Sprintf("%s", l)
				})
			}},
		{"campaigns", adsim.Fault{Path: "/v1/campaigns"}, []func(*adsim.Fault){onOffset(0), onOffset(99),
			onOffset(198)}, func(ctx context.Context, _, api *Client) (string, error) {
			return listingText(api.Campaigns(ctx))
		}},
		{"campaign", adsim.Fault{Path: path}, anywhere, func(ctx context.Context, _, api *Client) (string, error) {
			return entityText(api.Campaign(ctx, campaign))
		}},
		{"creatives", adsim.Fault{Path: path + "/creatives"}, anywhere, func(ctx context.Context, _,
			api *Client) (string, error) {
			return listingText(api.Creatives(ctx, campaign))
		}},
		{"sources", adsim.Fault{Path: path + "/sources"}, anywhere, func(ctx context.Context, _,
			api *Client) (string, error) {
			return entityText(api.Sources(ctx, campaign))
		}},
		{"me", adsim.Fault{Path: "/v1/me"}, anywhere, func(ctx context.Context, _, api *Client) (string, error) {
			return entityText(api.Me(ctx))
		}},
		{"limits", adsim.Fault{Path: "/v1/limits"}, anywhere, func(ctx context.Context, _,
			api *Client) (string, error) {
			return entityText(api.Limits(ctx))
		}},
		{"balance", adsim.Fault{Path: "/v1/balance"}, anywhere, func(ctx context.Context, _,
			api *Client) (string, error) {
			return entityText(api.Balance(ctx))
		}},
	}
}

// wireFaults are those that strike any question alike. Those that pass are repaired
// by asking again; ever is how the read ends when they stay.
var wireFaults = []struct {
	name   string
	fault  adsim.Fault
	passes bool
	ever   error
	says   string
}{
	{"A1 cut/half", adsim.Fault{Kind: adsim.Cut}, true, ErrUnavailable, "cut off"},
	{"A1 cut/no-body", adsim.Fault{Kind: adsim.Cut, After: -1}, true, ErrUnavailable, "cut off"},
	{"A1 cut/chunked", adsim.Fault{Kind: adsim.Cut, Chunked: true}, true, ErrUnavailable, "cut off"},
	{"A1 reset/mid-body", adsim.Fault{Kind: adsim.Reset, After: 20}, true, ErrUnavailable, "connection reset"},
	{"A2 trailing/object", adsim.Fault{Kind: adsim.Trailing}, false, ErrContract, "after the end of the reply"},
	{"A2 trailing/text", adsim.Fault{Kind: adsim.Trailing, Value: "x"}, false, ErrContract,
		"1 byte after the end of the reply"},
	{"A3 html", adsim.Fault{Kind: adsim.HTML}, true, ErrUnavailable, "Be right back"},
	{"A3 html/502", adsim.Fault{Kind: adsim.HTML, Status: 502}, true, ErrUnavailable, "status 502"},
	{"A4 empty", adsim.Fault{Kind: adsim.Empty}, true, ErrUnavailable, "the reply is empty"},
	{"A4 null", adsim.Fault{Kind: adsim.Null}, true, ErrContract, "the reply is null"},
	{"A4 text", adsim.Fault{Kind: adsim.Body, Value: `"ok"`}, false, ErrContract, "type string"},
	{"A15 key-twice", adsim.Fault{Kind: adsim.Body, Value: `{"data":[],"data":[]}`}, false, ErrContract,
		"is there twice"},
	{"A19 not-a-number", adsim.Fault{Kind: adsim.Body, Value: `{"data":[NaN]}`}, true, ErrContract, "not JSON"},
	// Texts that are not UTF-8 refuse nothing; these bodies lack everything else.
	{"A22 not-utf-8", adsim.Fault{Kind: adsim.Body, Value: "[\xff]"}, true, ErrContract, "not JSON"},
	{"A22 half-an-escape", adsim.Fault{Kind: adsim.Body, Value: `{"x":"\ud8"}`}, true, ErrContract, "not JSON"},
	{"A23 too-large", adsim.Fault{Kind: adsim.Body, Value: strings.Repeat(" ", testMaxBody+1)}, false, ErrContract,
		"larger than the cap of 1000000 bytes"},
	{"A25 401", adsim.Fault{Kind: adsim.Status, Status: 401}, false, ErrAuth, "status 401"},
	{"A26 403", adsim.Fault{Kind: adsim.Status, Status: 403}, false, ErrAuth, "status 403"},
	{"A27 429", adsim.Fault{Kind: adsim.Status, Status: 429}, true, ErrUnavailable, "status 429"},
	{"A27 429/seconds", adsim.Fault{Kind: adsim.Status, Status: 429, RetryAfter: "7"}, true, ErrUnavailable,
		"status 429"},
	{"A27 429/date", adsim.Fault{Kind: adsim.Status, Status: 429, RetryAfter: "+30s"}, true, ErrUnavailable,
		"status 429"},
	{"A27 429/negative", adsim.Fault{Kind: adsim.Status, Status: 429, RetryAfter: "-3"}, true, ErrUnavailable,
		"status 429"},
	{"A27 429/for-ever", adsim.Fault{Kind: adsim.Status, Status: 429, RetryAfter: "100000000000000000000"}, false,
		ErrUnavailable, "asks to wait 24h0m0s"},
	{"A28 500", adsim.Fault{Kind: adsim.Status, Status: 500}, true, ErrUnavailable, "req_"},
	{"A28 503", adsim.Fault{Kind: adsim.Status, Status: 503}, true, ErrUnavailable, "status 503"},
	{"A30 stall/mid-body", adsim.Fault{Kind: adsim.Stall, After: 20}, true, ErrUnavailable,
		"no complete reply within "},
	{"A30 hang", adsim.Fault{Kind: adsim.Hang}, true, ErrUnavailable, "no complete reply within "},
	{"A30 slow", adsim.Fault{Kind: adsim.Slow, For: time.Minute}, true, ErrUnavailable, "no complete reply within "},
	{"A31 redirect", adsim.Fault{Kind: adsim.Status, Status: 307, Location: "https://evil.test/take?it=all"}, false,
		ErrContract, `redirects are not followed; this one leads to host "evil.test"`},
	{"A40 reset", adsim.Fault{Kind: adsim.Reset}, true, ErrUnavailable, "connection reset"},
	{"A44 error/array", adsim.Fault{Kind: adsim.Body, Status: 500, Value: `[1,{"error":null}]`}, true, ErrUnavailable,
		"status 500"},
	{"A44 error/binary", adsim.Fault{Kind: adsim.Body, Status: 503, Value: "\x00\xff\x1b[31m"}, true, ErrUnavailable,
		"status 503"},
	{"A44 error/long", adsim.Fault{Kind: adsim.Body, Status: 400, Value: strings.Repeat("x", 1<<20)}, false,
		ErrContract, `xxx"...`},
	{"A44 error/nothing", adsim.Fault{Kind: adsim.Body, Status: 405}, false, ErrContract, "status 405"},
}

const testMaxBody = 1_000_000

// TestStreams_MeetEveryFault lets each fault strike each question, on its first, a
// middle and its last page, on the first attempt, on a later one and for ever. What
// comes without an error is what comes without a fault.
func TestStreams_MeetEveryFault(t *testing.T) {
	report := newAdsim(adsim.Config{Campaigns: 9, RowsPerDay: 150, Sources: 200})
	account := newAdvertiser(adsim.Config{Campaigns: 250, CreativesPerCampaign: 5})
	for _, st := range streams(account) {
		s := account
		if st.name == "pages" {
			s = report
		}
		t.Run(st.name, func(t *testing.T) {
			want, err := st.read(t.Context(), adsimClient(t, s), advertiser(t, s))
			if err != nil {
				t.Fatal(err)
			}
			for place, put := range st.places {
				for _, tc := range wireFaults {
					for _, when := range []string{"first", "later", "ever"} {
						f := tc.fault
						f.Day, f.Query, f.Path = st.fault.Day, st.fault.Query, st.fault.Path
						put(&f)
						before := f
						before.Kind, before.Status, before.Value, before.RetryAfter, before.Times = adsim.Status, 503,
							"", "", 1
						s.ClearFaults()
						if when == "later" {
							s.Fail(before)
						}
						if when != "ever" {
							f.Times = 1
						}
						s.Fail(f)
						name := fmt.Sprintf("%s place %d %s", tc.name, place+1, when)
						// What the report refuses without a reason is asked again.
						isReport := (st.name == "pages" || st.name == "creatives-of-the-report") && place == 0 ||
							st.name == "totals"
						passes := tc.passes || isReport && f.Status == http.StatusBadRequest
						ever := tc.ever
						if ever == ErrAuth && place > 0 { // they were accepted a moment ago
							passes, ever = true, ErrUnavailable
						}
						synctest.Test(t, func(t *testing.T) {
							checkFault(t, name, s, st, passes && when != "ever",
								ever, tc.says, want)
						})
					}
				}
			}
		})
	}
}

// checkFault reads once and compares what came of it.
func checkFault(t *testing.T, name string, s *adsim.Service, st stream, passes bool, kind error, says, want string) {
	t.Helper()
	begin := time.Now()
	bounded := func(o *Options) { o.MaxBody = testMaxBody }
	report, api := adsimClient(t, s), advertiser(t, s, bounded)
	report.maxBody = testMaxBody
	s.ResetRequests()
	got, err := st.read(t.Context(), report, api)
	if took := time.Since(begin); took > 12*time.Minute {
		t.Errorf("%s: took %v, more than a budget and a request", name, took)
	}
	if !slices.ContainsFunc(s.Requests(), func(r adsim.Request) bool {
		return r.Fault != "" && r.Fault != "status" ||
			r.Status >= 300
	}) {
		t.Errorf("%s: no request met the fault", name)
	}
	// A page behind the first that is refused may be behind the last: the rows show it.
	_, unproven := errors.AsType[*UnprovenError](err)
	switch {
	case passes && err != nil:
		t.Errorf("%s: %v", name, err)
	case passes && got != want:
		t.Errorf("%s: read %.200s, want %.200s", name, got, want)
	case passes:
	case err == nil && strings.Contains(got, "status 4"): // totals tell why there are none
	case err == nil:
		t.Errorf("%s: no error, read %.200s", name, got)
	case !errors.Is(err, kind) && !(unproven && kind == ErrContract), !strings.Contains(err.Error(), says),
		len(err.Error()) > 700,
		strings.ContainsAny(err.Error(), "\x00\x1b\n\r"):
		t.Errorf("%s: error %v, want %v that says %q on one line", name, err, kind, says)
	}
	for _, secret := range []string{adsim.DefaultKey, adsim.DefaultPassword, "take?it"} {
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v shows a secret", name, err)
		}
	}
}

// A 404 says that a thing is not there only where the thing was named.
func TestStreams_ANotFoundIsAboutWhatWasNamed(t *testing.T) {
	s := newAdvertiser(adsim.Config{Campaigns: 9})
	named := map[string]bool{"campaign": true, "creatives": true, "sources": true}
	for _, st := range streams(s) {
		f := st.fault
		f.Kind, f.Status = adsim.Status, http.StatusNotFound
		s.ClearFaults()
		s.Fail(f)
		_, err := st.read(t.Context(), adsimClient(t, s), advertiser(t, s))
		if errors.Is(err, ErrNotFound) != named[st.name] || errors.Is(err, ErrContract) == named[st.name] {
			t.Errorf("%s: %v", st.name, err)
		}
	}
}

// Only the report has a reach. The same words of another interface are an error.
func TestStreams_OnlyTheReportHasAReach(t *testing.T) {
	s := newAdvertiser(adsim.Config{Campaigns: 9})
	for _, st := range streams(s) {
		f := st.fault
		f.Kind, f.Status, f.Value = adsim.Body, http.StatusBadRequest, "start_date cannot be more than 32 days "+
			"before today"
		s.ClearFaults()
		s.Fail(f)
		got, err := st.read(t.Context(), adsimClient(t, s), advertiser(t, s))
		switch st.name {
		case "pages", "creatives-of-the-report":
			wantError(t, err, ErrUnreachable, "32 days")
		case "totals":
			if err != nil || !strings.Contains(got, "32 days") {
				t.Errorf("totals: %s, %v", got, err)
			}
		default:
			wantError(t, err, ErrContract, "32 days")
			check(t, st.name+" is unreachable", errors.Is(err, ErrUnreachable), false)
		}
	}
}
