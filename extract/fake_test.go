package extract

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"spendsync/schema"
)

// roundTrip is a service in this process, without sockets, so that tests can simulate time.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answerWith returns a reply; headers are name, value, name, value and so on.
func answerWith(status int, body string, headers ...string) (*http.Response, error) {
	h := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{
		StatusCode: status, Header: h, ContentLength: int64(len(body)),
		Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

// newTestClient returns a client with rt as its transport; more changes its options.
func newTestClient(t *testing.T, rt http.RoundTripper, more ...func(*Options)) *Client {
	t.Helper()
	o := Options{
		BaseURL: "https://report.test", Transport: rt, RetryBudget: 10 * time.Minute,
		Authorize: func(r *http.Request) { r.SetBasicAuth("ann", "open-sesame") },
	}
	for _, m := range more {
		m(&o)
	}
	c, err := NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var testDay = schema.NewDate(2026, time.March, 8)

// line returns row i of a day, in JSON as the service writes it.
func line(i int) string {
	return fmt.Sprintf(`{"date":"2026-03-08","campaign_id":"C1000001","campaign_name":"Spring",`+
		`"creative_id":"C1000001-%03d",`+
		`"source_id":"S%d","total_spend":1.25,"clicks":5,"impressions":100,"conversions":1}`, i, i)
}

func lines(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = line(i + 1)
	}
	return out
}

const columnsJSON = `["date","campaign_id","campaign_name","creative_id","source_id","total_spend","clicks",` +
	`"impressions","conversions"]`

// placed returns the pagination of a page.
func placed(page, size, rows, pages int) string {
	return fmt.Sprintf(`"pagination":{"page":%d,"page_size":%d,"total_rows":%d,"total_pages":%d}`, page, size,
		rows, pages)
}

// pageOf returns a reply with these rows; pagination may be empty.
func pageOf(rows []string, pagination string) string {
	body := `{"columns":` + columnsJSON + `,"data":[` + strings.Join(rows, ",") + `]`
	if pagination != "" {
		body += "," + pagination
	}
	return body + "}"
}

// report is a service that sends rows in pages, as the description states. twist, if set, may change the body of a
// page. It receives the number of the page and the number of requests for that page, both from 1.
type report struct {
	rows  []string
	twist func(page, try int, body string) string

	mu    sync.Mutex
	tries map[int]int
	asked []*http.Request
}

func (s *report) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	page, err1 := strconv.Atoi(r.URL.Query().Get("page"))
	size, err2 := strconv.Atoi(r.URL.Query().Get("page_size"))
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if s.tries == nil {
		s.tries = map[int]int{}
	}
	s.tries[page]++
	s.asked = append(s.asked, r)
	from := min((page-1)*size, len(s.rows))
	to := min(from+size, len(s.rows))
	body := pageOf(s.rows[from:to], placed(page, size, len(s.rows), (len(s.rows)+size-1)/size))
	if s.twist != nil {
		body = s.twist(page, s.tries[page], body)
	}
	return answerWith(200, body)
}

// walk returns copies of the pages before an error, and the error. It fails the test if anything follows the error.
func walk[T any](t *testing.T, seq iter.Seq2[Page[T], error]) (pages []Page[T], failed error) {
	t.Helper()
	for p, err := range seq {
		if failed != nil {
			t.Fatalf("after the error %v came page %d, error %v", failed, p.Number, err)
		}
		if err != nil {
			failed = err
			continue
		}
		pages = append(pages, cloned(p))
	}
	return pages, failed
}

// cloned returns a copy of a page that remains valid.
func cloned[T any](p Page[T]) Page[T] {
	p.Raw, p.Items = bytes.Clone(p.Raw), slices.Clone(p.Items)
	for i := range p.Items {
		row := reflect.ValueOf(&p.Items[i]).Elem()
		for f := range row.NumField() {
			row.Field(f).SetBytes(bytes.Clone(row.Field(f).Bytes()))
		}
	}
	return p
}

// sources returns the source IDs of the rows, in order.
func sources(pages []Page[SpendLine]) string {
	var ids []string
	for _, p := range pages {
		for _, l := range p.Items {
			ids = append(ids, string(l.SourceID.appendText(nil)))
		}
	}
	return strings.Join(ids, " ")
}

// check compares one value.
func check[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// wantError requires an error of the given kind, whose text contains all parts.
func wantError(t *testing.T, err, kind error, parts ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("error %v, want %v", err, kind)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
	if strings.ContainsAny(err.Error(), "\n\r\x00\x1b") {
		t.Errorf("error %q holds control characters", err)
	}
}

// brokenBody returns a reader of body that ends with the error then; nil: with io.EOF.
func brokenBody(body string, then error) io.ReadCloser {
	return io.NopCloser(io.MultiReader(bytes.NewReader([]byte(body)), errorReader{then}))
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, cmp.Or(r.err, io.EOF) }

// stalledBody returns head and then blocks until the request is canceled.
type stalledBody struct {
	r    *http.Request
	head io.Reader
}

func (b stalledBody) Read(p []byte) (int, error) {
	if n, err := b.head.Read(p); err == nil && b.r.Context().Err() == nil {
		return n, nil
	}
	<-b.r.Context().Done()
	return 0, b.r.Context().Err()
}

func (b stalledBody) Close() error { return nil }

// dayOf walks the report of a day. If its pages do not add up, or two rows have the same key, the walk ends with an
// [*UnprovenError].
func dayOf(ctx context.Context, c *Client, day schema.Date, size int) iter.Seq2[Page[SpendLine], error] {
	return func(yield func(Page[SpendLine], error) bool) {
		var seen Evidence
		keys, rows := map[string]bool{}, int64(0)
		for page, err := range c.Spend(ctx, SpendQuestion{Day: day, PageSize: size}, &seen) {
			if !yield(page, err) || err != nil {
				return
			}
			for _, l := range page.Items {
				rows++
				keys[fmt.Sprintf("%s %s %s", l.CampaignID, l.CreativeID, l.SourceID)] = true
			}
		}
		if seen.Against != "" || int64(len(keys)) != rows || seen.Full || seen.Total >= 0 && seen.Total != rows {
			yield(Page[SpendLine]{}, &UnprovenError{What: "spend " + day.String(), Reason: fmt.Sprintf("%+v", seen)})
		}
	}
}
