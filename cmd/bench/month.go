package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"spendsync/schema"
)

// monthStart is ten past midnight in Chicago, when no clock changes in the month after.
var monthStart = time.Date(2026, time.June, 2, 5, 10, 0, 0, time.UTC)

// The month's outages, from one hour to another: the report's, and the whole service's.
var outages = []struct {
	from, to int
	path     string
}{{300, 303, "/ads/spend-report"}, {500, 503, ""}}

// restatedWeek is the hour in which the service restates seven days whole.
const restatedWeek = 240

// month syncs an account of perDay rows a day every hour of a month: the day grows, late
// conversions come, a week is restated, settings change, the service fails twice. Then every day is
// read once more, outside all figures, and must equal the service's rows.
func (b *bench) month(ctx context.Context, perDay int) error {
	a := reportOf(perDay*days, b.options)
	s, err := startAt(ctx, b.bin, a, "-now", monthStart.Format(time.RFC3339))
	if err != nil {
		return err
	}
	defer s.stop()
	m := &month{bench: b, service: s, store: filepath.Join(b.options.dir, "month"), chance: rand.New(rand.NewPCG(1, 2))}
	if err := os.RemoveAll(m.store); err != nil {
		return err
	}
	hours := b.options.hours
	for h := range hours {
		if h%24 == 0 {
			b.say("month, %d rows a day: day %d of %d, %.0f CPU s", perDay, h/24+1, (hours+23)/24, m.all.cpu.Seconds())
		}
		if err := m.hour(ctx, h); err != nil {
			return fmt.Errorf("hour %d: %w", h, err)
		}
	}
	equal, unequal := m.equalDays(ctx)
	last := float64(max(hours-1, 1))
	fmt.Fprintf(b.stdout, "a month of %d hours, %d rows a day, %s campaigns\n\n", hours, perDay, b.options.shape)
	printCells(b.stdout, [][]string{
		{"", "CPU s", "MB written", "MB read", "requests", "peak MiB", "largest CPU s"},
		monthCells("all hours", m.all, m.largest), monthCells("the first of them", m.first, m.first.cpu),
		{"an hour, but the first", fmt.Sprintf("%.3f", (m.all.cpu-m.first.cpu).Seconds()/last),
			fmt.Sprintf("%.2f", float64(m.all.written-m.first.written)/1e6/last),
			fmt.Sprintf("%.2f", float64(m.all.read-m.first.read)/1e6/last),
			fmt.Sprintf("%.1f", float64(m.all.requests-m.first.requests)/last), "", ""},
	})
	fmt.Fprintf(b.stdout, "%d hours in which the service failed; %d days equal the service's totals in the end\n\n",
		m.failed, equal)
	return unequal
}

// month is the state of a simulated month.
type month struct {
	*bench
	service    *service
	store      string
	chance     *rand.Rand
	all, first measurement
	largest    time.Duration // CPU time of an hour
	failed     int           // hours with an outage
}

func monthCells(name string, m measurement, largest time.Duration) []string {
	return []string{name, fmt.Sprintf("%.1f", m.cpu.Seconds()), fmt.Sprintf("%.0f", float64(m.written)/1e6),
		fmt.Sprintf("%.0f", float64(m.read)/1e6), fmt.Sprint(m.requests), fmt.Sprint(m.rss >> 20),
		fmt.Sprintf("%.2f", largest.Seconds())}
}

// hour advances the service by an hour, and syncs.
func (m *month) hour(ctx context.Context, h int) error {
	now := monthStart.Add(time.Duration(h) * time.Hour)
	if err := m.happen(ctx, h, now); err != nil {
		return err
	}
	out := false
	for _, o := range outages {
		out = out || o.from <= h && h < o.to
	}
	used, output, err := measure(m.sync(ctx, now))
	failed, ok := errors.AsType[*exec.ExitError](err)
	if err != nil && (!ok || !out || failed.ExitCode() > daysAtRisk) {
		return fmt.Errorf("%w\n%s", err, output)
	}
	if out {
		m.failed++
	}
	err = m.service.order(ctx, http.MethodGet, "/requests", nil, func([]byte) error { used.requests++; return nil })
	if err != nil {
		return err
	}
	if h == 0 {
		m.first = used
	}
	m.largest = max(m.largest, used.cpu)
	m.all = measurement{cpu: m.all.cpu + used.cpu, rss: max(m.all.rss, used.rss), written: m.all.written + used.written,
		read: m.all.read + used.read, requests: m.all.requests + used.requests}
	return m.service.order(ctx, http.MethodDelete, "/requests", nil, nil)
}

// sync is a run at that time.
func (m *month) sync(ctx context.Context, now time.Time, env ...string) *exec.Cmd {
	cmd := m.service.spendsync(ctx, m.bin.clocked, m.store, "sync")
	cmd.Env = append(append(cmd.Env, benchNow+"="+now.Format(time.RFC3339), "SPENDSYNC_RETRY_BUDGET=2s"), env...)
	return cmd
}

// clock sets the service's time.
func (m *month) clock(ctx context.Context, now time.Time) error {
	return m.service.order(ctx, http.MethodPost, "/clock", map[string]any{"now": now, "standing": true}, nil)
}

// happen is what the hour brings: its time, and what becomes of the account.
func (m *month) happen(ctx context.Context, h int, now time.Time) error {
	post := func(path string, body any) error {
		return m.service.order(ctx, http.MethodPost, path, body, nil)
	}
	today := schema.DateOf(now)
	restate := func(days schema.Date, percent int64, oneIn int) (err error) {
		for d := today - days; d < today; d++ {
			one := restatement{Day: d.String(), Kind: "multiply", Percent: percent, OneIn: oneIn}
			err = errors.Join(err, post("/restate", one))
		}
		return err
	}
	err := m.clock(ctx, now)
	if h%24 == 12 { // late conversions
		err = errors.Join(err, restate(10, 103, 200))
	}
	if h == restatedWeek {
		err = errors.Join(err, restate(7, 101, 0))
	}
	if h%6 == 3 {
		err = errors.Join(err, m.rename(ctx, h))
	}
	for _, o := range outages {
		switch h {
		case o.from:
			err = errors.Join(err, post("/fault", map[string]any{"kind": "status", "status": 503, "path": o.path}))
		case o.to:
			err = errors.Join(err, m.service.order(ctx, http.MethodDelete, "/fault", nil, nil))
		}
	}
	return err
}

// rename changes the settings of one campaign.
func (m *month) rename(ctx context.Context, h int) error {
	var ids []string
	err := m.service.order(ctx, http.MethodGet, "/settings", nil, func(line []byte) error {
		var c struct {
			ID     string `json:"campaign_id"`
			Status string `json:"status"`
		}
		err := json.Unmarshal(line, &c)
		if c.Status == "active" || c.Status == "paused" {
			ids = append(ids, c.ID)
		}
		return err
	})
	if err != nil || len(ids) == 0 {
		return err
	}
	id, name := ids[m.chance.IntN(len(ids))], fmt.Sprintf("Hour %d", h)
	change := map[string]any{"campaign": id, "set": map[string]string{"name": name}}
	return m.service.order(ctx, http.MethodPost, "/change", change, nil)
}

// equalDays reads every day that the report reaches and compares it with what the service holds.
func (m *month) equalDays(ctx context.Context) (n int, err error) {
	end := monthStart.Add(time.Duration(m.options.hours) * time.Hour)
	if err := m.clock(ctx, end); err != nil {
		return 0, err
	}
	if output, err := m.sync(ctx, end, "SPENDSYNC_REREAD_AFTER=0s").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("the last sync: %w\n%s", err, output)
	}
	return m.service.equalDays(ctx, m.bin.clocked, m.store)
}
