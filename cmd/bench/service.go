package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"spendsync/extract"
	"spendsync/schema"
)

// service is the simulated service in a process of its own.
type service struct {
	cmd           *exec.Cmd
	env           []string // the variables that point spendsync at it
	report        string
	authorization string
	control       string
	creative      string // restated, by one per cent more each time; about one row in a hundred is its
	rows          int    // of the whole report
}

// startService starts adsim with a stopped clock and a report of about that many rows, and requests every page once, so
// that its caches are filled before anything is measured.
func (b *bench) startService(ctx context.Context, rows int) (*service, error) {
	// Half as many websites as rows per day: fewer cannot hold the rows, as a creative has at most one row per website
	// and day.
	perDay := rows / days
	cmd := exec.CommandContext(ctx, b.adsim, "-addr", "127.0.0.1:0", "-frozen", "-rate-limit", "-1",
		"-campaigns", strconv.Itoa(b.campaigns), "-creatives", strconv.Itoa(creatives),
		"-rows-per-day", strconv.Itoa(perDay), "-sources", strconv.Itoa(max(200, perDay/2)))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &service{cmd: cmd}
	lines := bufio.NewScanner(out)
	values := map[string]string{}
	for len(s.env) < 5 && lines.Scan() {
		name, value, ok := strings.Cut(strings.TrimPrefix(lines.Text(), "export "), "=")
		if !ok {
			continue
		}
		value = strings.Trim(value, "'")
		values[name] = value
		s.env = append(s.env, name+"="+value)
	}
	if len(s.env) < 5 {
		s.stop()
		return nil, fmt.Errorf("adsim did not say where it is")
	}
	go io.Copy(io.Discard, out)
	s.report = values["SPENDSYNC_REPORT_URL"]
	s.control = strings.TrimSuffix(s.report, "/report") + "/_sim"
	credentials := values["SPENDSYNC_REPORT_USER"] + ":" + values["SPENDSYNC_REPORT_PASSWORD"]
	s.authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))
	if err := s.warm(ctx); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// spendsync is a run of the binary on this service, with as many requests a minute
// as can be set.
func (s *service) spendsync(ctx context.Context, binary, store string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(append(os.Environ(), s.env...),
		"SPENDSYNC_DATA_DIR="+store, "SPENDSYNC_LOG_LEVEL=error", "SPENDSYNC_REQUESTS_PER_MINUTE=120")
	return cmd
}

func (s *service) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
}

// warm asks for all pages once and picks the creative to restate: that whose rows with
// spend are closest to one per cent of all.
func (s *service) warm(ctx context.Context) error {
	spent := map[string]int{}
	err := eachPage(ctx, s.report, s.authorization, func(_ string, page extract.Page[extract.SpendLine]) error {
		s.rows += len(page.Items)
		for _, l := range page.Items {
			if spend, _, err := schema.ParseMoney(l.TotalSpend); err == nil && spend > 0 {
				spent[strings.Trim(string(l.CreativeID), `"`)]++
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for creative, rows := range spent {
		if s.creative == "" || s.isCloser(creative, rows, spent[s.creative]) {
			s.creative = creative
		}
	}
	return addUp(ctx, s.report, s.authorization)
}

// isCloser reports whether n rows are closer to one per cent of all rows than were. If both are
// equally close, the first by name wins.
func (s *service) isCloser(creative string, rows, were int) bool {
	off := func(rows int) int { return max(100*rows-s.rows, s.rows-100*rows) }
	return off(rows) < off(were) || off(rows) == off(were) && creative < s.creative
}

// restateCreative changes one creative's numbers on every day that is over.
func (s *service) restateCreative(ctx context.Context) error {
	if s.creative == "" {
		return fmt.Errorf("no creative has spent anything")
	}
	return s.restate(ctx, schema.ReachDays, restatement{Percent: 101, Creative: s.creative})
}

// restateAll changes the numbers of all rows that have spent something.
func (s *service) restateAll(ctx context.Context) error {
	return s.restate(ctx, schema.ReachDays, restatement{Percent: 101})
}

// restateScattered changes the numbers of one source in a hundred on every day that is over.
func (s *service) restateScattered(ctx context.Context) error {
	return s.restate(ctx, schema.ReachDays, restatement{Percent: 150, OneIn: 100})
}

// anHourLater applies the changes of an hour: late conversions of one source in 500 on ten days,
// and a twentieth more on the open day.
func (s *service) anHourLater(ctx context.Context) error {
	today := schema.DateOf(time.Now())
	grown := restatement{Day: today.String(), Kind: "multiply", Percent: 105}
	if err := s.order(ctx, http.MethodPost, "/restate", grown, nil); err != nil {
		return err
	}
	return s.restate(ctx, 10, restatement{Percent: 150, OneIn: 500})
}

// restatement is what the service is told to change.
type restatement struct {
	Day      string `json:"day"`
	Kind     string `json:"kind"`
	Percent  int64  `json:"percent"`
	Creative string `json:"creative_id,omitempty"`
	OneIn    int    `json:"one_in,omitempty"`
}

// restate changes the days before today.
func (s *service) restate(ctx context.Context, days int, which restatement) error {
	today := schema.DateOf(time.Now())
	for d := today - schema.Date(days); d < today; d++ {
		which.Day, which.Kind = d.String(), "multiply"
		if err := s.order(ctx, http.MethodPost, "/restate", which, nil); err != nil {
			return fmt.Errorf("restating %s: %w", d, err)
		}
	}
	return s.prepare(ctx)
}

// prepare lets the service add up its totals now, not within a measurement.
func (s *service) prepare(ctx context.Context) error {
	none := func(string, extract.Page[extract.SpendLine]) error { return nil }
	if err := eachPage(ctx, s.report, s.authorization, none); err != nil {
		return err
	}
	return addUp(ctx, s.report, s.authorization)
}

// order gives the service an order under its control and hands on the lines of the
// answer.
func (s *service) order(ctx context.Context, method, path string, body any, line func([]byte) error) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, s.control+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode >= 300:
		return fmt.Errorf("%s %s: %s %s", method, path, resp.Status, answer)
	case line == nil:
		return nil
	}
	for l := range bytes.Lines(answer) {
		if err := line(l); err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
	}
	return nil
}

// equalDays compares the days of a store with the service's rows and sums.
func (s *service) equalDays(ctx context.Context, binary, store string) error {
	type day struct {
		Date   string      `json:"date"`
		Rows   int         `json:"rows"`
		Spend  string      `json:"spend"`
		Clicks json.Number `json:"clicks"`
	}
	want := map[string]day{}
	err := s.order(ctx, http.MethodGet, "/truth?sum=1", nil, func(line []byte) error {
		var d day
		err := json.Unmarshal(line, &d)
		want[d.Date] = d
		return err
	})
	if err != nil {
		return err
	}
	cmd := s.spendsync(ctx, binary, store, "query", "--format", "json", "-c",
		"SELECT report_date::VARCHAR AS date, count(*) AS rows, sum(spend)::VARCHAR AS spend, "+
			"sum(clicks)::BIGINT AS clicks FROM spend_daily GROUP BY report_date")
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	var got []day
	if err := json.Unmarshal(out, &got); err != nil {
		return err
	}
	for _, d := range got {
		if w, reached := want[d.Date]; reached && w != d {
			return fmt.Errorf("%s is %v, the service has %v", d.Date, d, w)
		}
		delete(want, d.Date)
	}
	if len(want) > 0 {
		return fmt.Errorf("%d days that the service has are not stored", len(want))
	}
	return nil
}
