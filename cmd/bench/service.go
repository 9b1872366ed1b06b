package main

import (
	"bufio"
	"context"
	"encoding/base64"
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
	creative      string // restated, by one per cent more each time
	rows          int    // of the whole report
}

// startService starts adsim, which renders its pages before it answers, and asks
// for every page once, so that nobody pays for the rendering.
func startService(ctx context.Context, bin binaries, o options) (*service, error) {
	perCampaign := 10
	cmd := exec.CommandContext(ctx, bin.adsim, "-addr", "127.0.0.1:0", "-frozen", "-prerender", "-rate-limit", "-1",
		"-campaigns", strconv.Itoa(max(1, o.creatives/perCampaign)), "-creatives", strconv.Itoa(perCampaign),
		"-rows-per-day", strconv.Itoa(o.rows/days), "-sources", strconv.Itoa(max(200, o.rows/days/5)))
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
	s.authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(values["SPENDSYNC_REPORT_USER"]+":"+values["SPENDSYNC_REPORT_PASSWORD"]))
	return s, s.warm(ctx)
}

// spendsync is a run of the binary on this service.
func (s *service) spendsync(ctx context.Context, bin binaries, store string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, bin.spendsync, args...)
	cmd.Env = append(append(os.Environ(), s.env...), "SPENDSYNC_DATA_DIR="+store, "SPENDSYNC_LOG_LEVEL=error", "SPENDSYNC_REQUESTS_PER_MINUTE=120")
	return cmd
}

func (s *service) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
}

// warm asks for all pages once and picks the creative to restate.
func (s *service) warm(ctx context.Context) error {
	err := eachPage(ctx, s.report, s.authorization, func(_ string, page extract.Page[extract.SpendLine]) error {
		s.rows += len(page.Items)
		for _, l := range page.Items {
			if s.creative != "" {
				break
			}
			if spend, _, err := schema.ParseMoney(l.TotalSpend); err == nil && spend >= schema.Dollar {
				s.creative = strings.Trim(string(l.CreativeID), `"`)
			}
		}
		return nil
	})
	if err == nil && s.creative == "" {
		err = fmt.Errorf("no creative has spent anything")
	}
	return err
}

// restate changes one creative's numbers on every day.
func (s *service) restate(ctx context.Context) error {
	today := schema.DateOf(time.Now())
	for d := today - schema.ReachDays; d < today; d++ {
		body := fmt.Sprintf(`{"day":%q,"kind":"multiply","percent":101,"creative_id":%q}`, d, s.creative)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.control+"/restate", strings.NewReader(body))
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode >= 300 {
			return fmt.Errorf("restating %s: %s %s", d, resp.Status, text)
		}
	}
	// The service renders the changed pages now, not within a measurement.
	return eachPage(ctx, s.report, s.authorization, func(string, extract.Page[extract.SpendLine]) error { return nil })
}
