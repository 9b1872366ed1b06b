package check_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	locks "sync"
	"testing"
	"time"

	"spendsync/cmd/spendsync/check"
	"spendsync/cmd/spendsync/record"
	"spendsync/extract/adsim"
	"spendsync/extract/adsim/recorded"
)

// asked is a transport to a handler, in this process.
type asked struct{ http.Handler }

func (a asked) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	defer func() {
		if recover() == http.ErrAbortHandler {
			resp, err = nil, io.ErrUnexpectedEOF
		}
	}()
	out := httptest.NewRecorder()
	a.ServeHTTP(out, r)
	resp = out.Result()
	resp.Request = r
	return resp, nil
}

// both sends the requests of each interface through its recorder.
type both struct{ report, api http.RoundTripper }

func (b both) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == "report.test" {
		return b.report.RoundTrip(r)
	}
	return b.api.RoundTrip(r)
}

// recordingOf checks a service, and returns the answer and the recording of what it answered.
func recordingOf(t *testing.T, next http.RoundTripper, pageSize int) (check.Findings, string) {
	t.Helper()
	r := record.New(now)
	o := options(t, small(), pageSize)
	o.Client.Transport = both{r.Through(next, recorded.Report, "https://report.test"+adsim.ReportPrefix),
		r.Through(next, recorded.API, "https://ads.test"+adsim.APIPrefix)}
	answer := check.Run(t.Context(), o)
	text, err := r.Recording(o.Config.Service(), "test")
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

// served checks a recording at an instant, and syncs it if that is wanted.
func served(t *testing.T, text string, at time.Time, pageSize int) (check.Options, check.Findings) {
	t.Helper()
	f, err := recorded.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return at }
	o := options(t, small(), pageSize)
	o.Now, o.Job.Now, o.Job.Store.Now = clock, clock, clock
	o.Client.Transport = asked{recorded.New(f, clock, map[string]string{
		recorded.Report: adsim.ReportPrefix, recorded.API: adsim.APIPrefix})}
	return o, check.Run(t.Context(), o)
}

// exceptions are what an answer says beside what is ok, without values.
func exceptions(a check.Findings) string {
	lines := []string{fmt.Sprintf("exit %d", a.ExitCode)}
	for _, l := range a.Checks {
		switch l.Check {
		case "openapi.json", "memory", "space", "file system", "bytes written", "secrets":
		default:
			lines = append(lines, l.Check+" "+l.State)
		}
	}
	slices.Sort(lines[1:])
	return strings.Join(lines, "\n")
}

// notAlike are the variations whose recording differs from the service, and why.
var notAlike = map[string]string{}

// TestRecording_EndsAsTheService: a recording of each variation of the service gives the same exit code and the same
// exceptions as the service, also weeks later.
func TestRecording_EndsAsTheService(t *testing.T) {
	for _, q := range variations() {
		pageSize := 20
		if strings.HasPrefix(q.Name, "pag") || strings.HasPrefix(q.Name, "report") {
			pageSize = 10_000
		}
		t.Run(q.Name, func(t *testing.T) {
			t.Parallel()
			original, text := recordingOf(t, small(q.Name).Transport(), pageSize)
			_, answer := served(t, text, noon.AddDate(0, 0, 19), pageSize)
			got, want := exceptions(answer), exceptions(original)
			if why := notAlike[q.Name]; (got != want) != (why != "") {
				t.Errorf("the recording gives\n%s\nthe service\n%s\n(%s)\n%s\n--\n%s", got, want, why, all(answer),
					all(original))
				if dir := os.Getenv("SPENDSYNC_TEST_KEEP"); dir != "" {
					_ = os.WriteFile(filepath.Join(dir, q.Name+".json"), []byte(text), 0o600)
				}
			}
		})
	}
}

// all are the lines of an answer that are not ok.
func all(a check.Findings) string {
	var lines []string
	for _, l := range a.Checks {
		if l.State != check.OK {
			lines = append(lines, l.State+" "+l.Check+": "+l.Found)
		}
	}
	return strings.Join(lines, "\n")
}

// TestRecording_IsSynced: a sync of a recording stores every day of the reach, though one was recorded, and the report
// adds up to the service's own sums. A second one finds the same.
func TestRecording_IsSynced(t *testing.T) {
	_, text := recordingOf(t, small().Transport(), 20)
	o, _ := served(t, text, noon.AddDate(0, 0, 40), 20)
	result := sync(t, o)
	matched := 0
	for _, c := range result.Coverage {
		if c.ControlTotalState == "matched" {
			matched++
		}
	}
	if result.Run.ExitCode != 0 || matched != 32 {
		t.Errorf("exit %d, %d days agree with the service's own sums: %s", result.Run.ExitCode, matched,
			result.Run.Message.V)
	}
	o.Job.RunID = "run000002"
	if again := sync(t, o); again.Run.ExitCode != 0 || again.Run.RowsUpdated+again.Run.RowsDeleted > 0 {
		t.Errorf("a second sync: exit %d, %d rows changed: %s", again.Run.ExitCode,
			again.Run.RowsUpdated+again.Run.RowsDeleted, again.Run.Message.V)
	}
}

// canaryLength is how long every canary is.
const canaryLength = 13

// canary is a text, or digits, that must not be in a recording.
func canary(i int) (text, digits string) {
	return fmt.Sprintf("canary%dyx", 10_000+i), fmt.Sprint(7_000_000_001_003 + 1_000_003*i)
}

// TestRecording_HasNoValue plants 10,000 canaries: in values, in keys, in URLs and in headers, and as credentials.
func TestRecording_HasNoValue(t *testing.T) {
	var mu locks.Mutex
	n := 0
	planted := map[string]bool{} // all of canaryLength
	plant := func() (text, digits string) {
		text, digits = canary(n)
		n++
		planted[text], planted[digits] = true, true
		return text, digits
	}
	service := asked{http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Date", noon.Format(http.TimeFormat))
		if n > 11_000 {
			fmt.Fprint(w, `{"data":[]}`)
			return
		}
		text, digits := plant()
		w.Header().Set("X-"+text, digits)
		w.Header().Set("Link", "<https://"+text+".test/"+digits+">; rel=next")
		w.Header().Set("Service-Api-Key-Expiry-Warning", text+" ends "+digits)
		fmt.Fprintf(w, `{"%s":"%s","data":[`, text, digits)
		for i := range 400 {
			text, digits := plant()
			other, more := plant()
			if i > 0 {
				fmt.Fprint(w, ",")
			}
			fmt.Fprintf(w, `{"id":"C%[2]s","campaign_id":"C%[2]s","%[1]s":{"%[3]s":%[4]s},`+
				`"total_spend":%[2]s.%[4]s,"name":"%[1]s \u0026 %[3]s",`+
				`"link":"https://%[1]s.test/%[4]s?%[3]s=%[2]s","tags":["%[3]s",%[2]s,null],`+
				`"escaped":"%[5]s","status":"%[6]s","key":"%[7]s %[8]s"}`, text, digits, other, more,
				strings.ReplaceAll(text, "c", `\u0063`), strings.ToUpper(text), adsim.DefaultKey, adsim.DefaultPassword)
		}
		fmt.Fprint(w, `],"pagination":{"page":1}}`)
	})}
	_, text := recordingOf(t, service, 20)
	if n < 10_000 {
		t.Errorf("%d canaries only", n)
	}
	for _, secret := range []string{adsim.DefaultKey, adsim.DefaultPassword} {
		if strings.Contains(text, secret) {
			t.Errorf("%s is in the recording", secret)
		}
	}
	plain := strings.ToLower(text)
	found := 0
	for at := range max(len(plain)-canaryLength, 0) {
		if c := plain[at : at+canaryLength]; planted[c] && found < 5 {
			found++
			t.Errorf("%s is in the recording: %s", c, plain[max(0, at-60):min(len(plain), at+60)])
		}
	}
}
