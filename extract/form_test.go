package extract

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

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
		_, err = walk(t, dayOf(t.Context(), c, testDay, 3))
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
