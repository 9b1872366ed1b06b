package extract

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// A reply that is built otherwise and says the same gives the same rows.
func TestSpend_TakesOtherForms(t *testing.T) {
	described := pageOf(lines(2), placed(1, 3, 2, 1))
	camel := strings.NewReplacer("campaign_id", "campaignId", "creative_id", "CreativeID", "total_spend", "total-spend",
		"total_rows", "totalRows")
	for name, body := range map[string]string{
		"camel":     camel.Replace(described),
		"rows":      strings.Replace(described, `"data":`, `"rows":`, 1),
		"name/none": strings.Replace(described, `"campaign_name",`, ``, 1),
		"bom":       "\ufeff" + described,
		"gzip":      zipped(described),
		"gzip/bom":  zipped("\ufeff" + described),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := walk(t, newTestClient(t, scripted(body)).Spend(t.Context(), testDay, 3, nil, nil))
			if err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			check(t, "sources", sources(got), "S1 S2")
			check(t, "spend", string(got[0].Items[1].TotalSpend), "1.25")
			check(t, "clicks", string(got[0].Items[1].Clicks), "5")
			check(t, "odd rows", len(got[0].NotObjects), 0)
			if again, err := DecodeSpend(nil, got[0].Raw); err != nil || len(again.Items) != 2 {
				t.Errorf("kept, it gives %d rows, %v", len(again.Items), err)
			}
			if json := RowsJSON(nil, got[0].Raw, []int{2}); !strings.Contains(json[2], "S2") {
				t.Errorf("the JSON of the row is %q", json[2])
			}
		})
	}
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.String()
}

// A body is bounded and whole after it is decompressed, too.
func TestClient_BoundsGzipThatNobodyAskedFor(t *testing.T) {
	page := pageOf(lines(2), placed(1, 3, 2, 1))
	for name, tc := range map[string]struct {
		body string
		want string
	}{
		"bomb": {zipped(page + strings.Repeat(" ", 1<<20)), "larger than the cap"},
		"cut":  {zipped(page)[:60], "cut off"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := NewClient(Options{
				BaseURL: "https://ads.test", Authorize: func(*http.Request) {}, MaxBody: 1 << 16, RetryBudget: 1,
				Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: http.StatusOK, ContentLength: -1,
						Header: http.Header{"X-Request-Id": {"req-1234"}},
						Body:   io.NopCloser(strings.NewReader(tc.body)), Request: r}, nil
				}),
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = walk(t, c.Spend(t.Context(), testDay, 3, nil, nil))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one that says %q", err, tc.want)
			}
			if e, _ := errors.AsType[*ReadError](err); e == nil || e.Status != 200 || e.RequestID != "req-1234" {
				t.Errorf("error %+v, want its status and the ID of its request", e)
			}
		})
	}
}

// Only a status that says that the answer is there makes a body an answer.
func TestClient_TakesStatusesOfWholeAnswers(t *testing.T) {
	for status, want := range map[int]bool{200: true, 201: true, 202: false, 203: true, 204: false, 206: false} {
		c, err := NewClient(Options{
			BaseURL: "https://ads.test", Authorize: func(*http.Request) {}, RetryBudget: 1,
			Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: status, ContentLength: -1, Header: http.Header{}, Request: r,
					Body: io.NopCloser(strings.NewReader(pageOf(lines(2), placed(1, 3, 2, 1))))}, nil
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = walk(t, c.Spend(t.Context(), testDay, 3, nil, nil))
		check(t, http.StatusText(status), err == nil, want)
	}
}

// TestDecodeSpend_NamesTheLineOfAPartThatIsMissing, and the keys that came.
func TestDecodeSpend_NamesTheLineOfAPartThatIsMissing(t *testing.T) {
	row := `[{"date":"2026-03-08"}]`
	for body, want := range map[string]string{
		`{"fields":["date"],"data":` + row + `}`: `the reply has no columns; its keys are "data", "fields"; another ` +
			`name is a line report_reply.columns of SPENDSYNC_SERVICE_FILE`,
		`{"columns":["date"],"hits":` + row + `}`: `the reply has no data; its keys are "columns", "hits"; another ` +
			`name is a line report_reply.rows of`,
		`{"columns":["date"],"data":[],"rows":[]}`:  `"rows" are rows, and there were some before`,
		`{"data":{"columns":["date"],"data":[]}}`:   "data is of type object, not an array",
		`{"columns":[{"name":"date"}],"data":[[]]}`: "column 1 is of type object, not a text",
	} {
		_, err := DecodeSpend(nil, []byte(body))
		wantError(t, err, ErrContract, want)
	}
}
