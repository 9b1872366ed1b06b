package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"spendsync/schema"
)

// service is the simulated service in a process of its own.
type service struct {
	cmd             *exec.Cmd
	env             []string // the variables that make spendsync use this service
	report, control string
	user, password  string
	first, today    schema.Date
	rows            int // rows of the whole report
}

// startService starts adsim with a stopped clock and a report of about the given number of rows. It requests every page
// once, so that the caches of adsim are filled before the first measurement.
func (o options) startService(ctx context.Context, rows int) (*service, error) {
	// Use half as many websites as rows per day, but at least 200. A creative has at most one row per website and day,
	// so fewer websites would give fewer rows than were asked for.
	perDay := rows / days
	cmd := exec.CommandContext(ctx, filepath.Join(o.dir, "adsim"), "-addr", "127.0.0.1:0", "-frozen", "-rate-limit",
		"-1",
		"-campaigns", strconv.Itoa(o.campaigns), "-creatives", strconv.Itoa(creatives),
		"-rows-per-day", strconv.Itoa(perDay), "-sources", strconv.Itoa(max(200, perDay/2)))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &service{cmd: cmd, today: schema.DateOf(time.Now())}
	s.first = s.today - schema.ReachDays
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
	s.user, s.password = values["SPENDSYNC_REPORT_USER"], values["SPENDSYNC_REPORT_PASSWORD"]
	if err := s.warm(ctx); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// spendsync returns a command that runs the binary on this service, with the highest request limit.
func (s *service) spendsync(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "spendsync"), args...)
	cmd.Env = append(append(os.Environ(), s.env...),
		"SPENDSYNC_DATA_DIR="+filepath.Join(dir, "store"), "SPENDSYNC_LOG_LEVEL=error",
		"SPENDSYNC_REQUESTS_PER_MINUTE=120")
	return cmd
}

func (s *service) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
}

// reportColumns are the columns of the report that spendsync requests.
const reportColumns = "date,campaign_id,creative_id,source_id,total_spend,clicks,impressions,conversions"

// warm sends every request that spendsync and the alternatives will send, once. So the service computes its totals
// before the measurement.
func (s *service) warm(ctx context.Context) error {
	asked := url.Values{"include_creatives": {"true"}, "page_size": {"10000"}, "columns": {reportColumns}}
	s.rows = 0
	for d := s.first; d <= s.today; d++ {
		n, err := s.pages(ctx, d, d, asked)
		if s.rows += n; err != nil {
			return err
		}
	}
	_, err := s.pages(ctx, s.first, s.today, asked)
	for _, columns := range []string{"date,total_spend,clicks",
		"campaign_id,campaign_name,creative_id,creative_title," +
			"creative_message,creative_image_url,creative_icon_url,creative_status"} {
		asked.Set("columns", columns)
		_, pageErr := s.pages(ctx, s.first, s.today, asked)
		err = errors.Join(err, pageErr)
	}
	return err
}

// pages reads every page of the report for the days from first to last, both included. It returns the number of rows
// that the last page states.
func (s *service) pages(ctx context.Context, first, last schema.Date, asked url.Values) (rows int, err error) {
	asked.Set("start_date", first.String())
	asked.Set("end_date", last.String())
	for n, of := 1, 1; n <= of; n++ {
		asked.Set("page", strconv.Itoa(n))
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.report+"/ads/spend-report?"+asked.Encode(), nil)
		if err != nil {
			return 0, err
		}
		req.SetBasicAuth(s.user, s.password)
		var page struct {
			Pagination struct {
				Rows  int `json:"total_rows"`
				Pages int `json:"total_pages"`
			}
		}
		if err := send(req, func(body []byte) error { return json.Unmarshal(body, &page) }); err != nil {
			return 0, err
		}
		rows, of = page.Pagination.Rows, page.Pagination.Pages
	}
	return rows, nil
}

// peerEnv returns the environment variables for the scripts in the folder peers: the address of the report, its user,
// and the days.
func (s *service) peerEnv() []string {
	return append(os.Environ(), "DO_NOT_TRACK=1", "RUNTIME__DLTHUB_TELEMETRY=false", "REPORT="+s.report,
		"REPORT_USER="+s.user, "REPORT_PASSWORD="+s.password, "FROM="+s.first.String(), "TO="+s.today.String(),
		"COLUMNS="+reportColumns)
}

// restateAll multiplies the numbers of all rows by 1.01, on every day that is over.
func (s *service) restateAll(ctx context.Context) error {
	return s.restate(ctx, schema.ReachDays, restatement{Percent: 101})
}

// restateScattered changes the numbers of one website in a hundred, on every day that is over.
func (s *service) restateScattered(ctx context.Context) error {
	return s.restate(ctx, schema.ReachDays, restatement{Percent: 150, OneIn: 100})
}

// anHourLater applies the changes of an hour. On each of the last ten complete days, the rows of one website in 500
// grow by half, as late conversions would do. The traffic of today grows by five percent.
func (s *service) anHourLater(ctx context.Context) error {
	grown := restatement{Day: s.today.String(), Kind: "multiply", Percent: 105}
	if err := s.order(ctx, grown); err != nil {
		return err
	}
	return s.restate(ctx, 10, restatement{Percent: 150, OneIn: 500})
}

// restatement is the body of adsim's command that changes the numbers of one day's rows.
type restatement struct {
	Day     string `json:"day"`
	Kind    string `json:"kind"`
	Percent int64  `json:"percent"`
	OneIn   int    `json:"one_in,omitempty"`
}

// restate sends the same command for each of the given number of days before today, and requests every page again.
func (s *service) restate(ctx context.Context, days int, which restatement) error {
	for d := s.today - schema.Date(days); d < s.today; d++ {
		which.Day, which.Kind = d.String(), "multiply"
		if err := s.order(ctx, which); err != nil {
			return fmt.Errorf("restating %s: %w", d, err)
		}
	}
	return s.warm(ctx)
}

// order sends the service a command that changes rows.
func (s *service) order(ctx context.Context, r restatement) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.control+"/restate", bytes.NewReader(text))
	if err != nil {
		return err
	}
	return send(req, nil)
}

// send sends a request, and hands the text of the reply to the given function, which may be nil. A status of 300 or
// more is an error.
func send(req *http.Request, body func([]byte) error) error {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s %.200s", req.Method, req.URL.Path, resp.Status, text)
	}
	if err == nil && body != nil {
		err = body(text)
	}
	return err
}
