package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// archivedPercent of the campaigns are archived, as in an account of some years.
const archivedPercent = 70

// campaigns reads the settings of an account of n campaigns, and again with nothing
// changed. The requests matter most: the service allows 120 a minute.
func (b *bench) campaigns(ctx context.Context, n int) error {
	s, err := startService(ctx, b.bin, account{campaigns: n, creatives: 2, rowsPerDay: 100, sources: 200})
	if err != nil {
		return err
	}
	defer s.stop()
	archived, err := s.archive(ctx, n*archivedPercent/100)
	if err != nil {
		return err
	}
	var results table
	for turn := range b.options.runs {
		b.say("%d campaigns: turn %d of %d", n, turn+1, b.options.runs)
		store := filepath.Join(b.options.dir, "store")
		if err := os.RemoveAll(store); err != nil {
			return err
		}
		var asked requests
		for _, name := range []string{firstSettings, unchangedSettings} {
			if err := s.order(ctx, http.MethodDelete, "/requests", nil, nil); err != nil {
				return err
			}
			cmd := s.spendsync(ctx, b.bin.unlimited, store, "sync")
			cmd.Env = append(cmd.Env, "SPENDSYNC_YOUNG_DAYS=0")
			m, _, err := measure(cmd)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			all, err := s.requests(ctx)
			if err != nil {
				return err
			}
			if name == firstSettings {
				asked = all
			}
			m.requests = all.sum()
			results.add(name, m)
		}
		naive, err := asked.naive(n)
		if err != nil {
			return err
		}
		results.add(naiveSettings, measurement{requests: naive})
	}
	waits := "without the waits for the limit"
	if b.options.waits {
		waits = "with the waits for the limit"
	}
	title := "%d campaigns, %d of them archived, %d rows, %d turns, %s"
	results.print(b.stdout, fmt.Sprintf(title, n, archived, s.rows, b.options.runs, waits))
	printResults(b.stdout, results.results())
	return nil
}

// archive archives the oldest campaigns until want of them are, and returns how many
// are.
func (s *service) archive(ctx context.Context, want int) (archived int, err error) {
	type campaign struct {
		ID     string `json:"campaign_id"`
		Status string `json:"status"`
	}
	var open []string // newest first
	err = s.order(ctx, http.MethodGet, "/settings", nil, func(line []byte) error {
		var c campaign
		err := json.Unmarshal(line, &c)
		if c.Status == "archived" {
			archived++
		} else {
			open = append(open, c.ID)
		}
		return err
	})
	for ; err == nil && archived < want; archived++ {
		oldest := open[len(open)-1]
		open = open[:len(open)-1]
		change := map[string]any{"campaign": oldest, "set": map[string]string{"status": "archived"}}
		err = s.order(ctx, http.MethodPost, "/change", change, nil)
	}
	return archived, err
}

// requests counts requests to the advertiser API by kind.
type requests struct{ lists, details, creatives, sources, account int }

func (r requests) sum() int64 {
	return int64(r.lists + r.details + r.creatives + r.sources + r.account)
}

// add counts a request by its path below the API's base.
func (r *requests) add(path string) {
	of, ok := strings.CutPrefix(path, "/v1/campaigns")
	switch {
	case !ok:
		r.account++
	case of == "":
		r.lists++
	case strings.HasSuffix(of, "/creatives"):
		r.creatives++
	case strings.HasSuffix(of, "/sources"):
		r.sources++
	default:
		r.details++
	}
}

// requests counts those since the log was emptied.
func (s *service) requests(ctx context.Context) (asked requests, err error) {
	err = s.order(ctx, http.MethodGet, "/requests", nil, func(line []byte) error {
		var of struct{ Path string }
		err := json.Unmarshal(line, &of)
		if path, ok := strings.CutPrefix(of.Path, "/api"); ok {
			asked.add(path)
		}
		return err
	})
	return asked, err
}

// campaignsAPage is the most that the service lists in one reply.
const campaignsAPage = 100

// naive is the number of requests that a client without state sends every time: the
// list, a hundred campaigns a page, then the detail, the creatives and the source
// settings of every campaign, and the account. The pages of creatives and the account's
// requests are counted from a first snapshot, which has no state either.
func (r requests) naive(campaigns int) (int64, error) {
	if r.details != campaigns || r.sources != campaigns || r.creatives < campaigns {
		return 0, fmt.Errorf("the first snapshot did not read all campaigns: %+v", r)
	}
	r.lists = (campaigns + campaignsAPage - 1) / campaignsAPage
	return r.sum(), nil
}
