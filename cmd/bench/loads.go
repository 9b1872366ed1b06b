package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// The measured processes.
const (
	download     = "download of the pages"
	duckdbAlone  = "DuckDB alone"
	firstLoad    = "first load"
	unchanged    = "all read again, unchanged"
	restated     = "all read again, 1 % restated"
	scattered    = "all read again, 1 % restated, scattered"
	hour         = "all read again, an hour later"
	nothingToDo  = "nothing to do"
	rebuildAlone = "DuckDB file from Parquet (rebuild)"
	replayAlone  = "rows from stored replies (replay)"
	verifyAlone  = "all files verified (verify)"
	allRestated  = "all read again, all restated"
)

// loads measures everything that concerns one size of the report, in turns.
func (b *bench) loads(ctx context.Context, rows int) error {
	s, err := b.startService(ctx, rows)
	if err != nil {
		return err
	}
	defer s.stop()
	results := &table{}
	for turn := range b.runs {
		b.say("%d rows: turn %d of %d", s.rows, turn+1, b.runs)
		if err := b.loadTurn(ctx, s, results); err != nil {
			return err
		}
	}
	results.print(b.stdout, fmt.Sprintf("%d rows over %d days, %d campaigns, %d turns", s.rows, days, b.campaigns,
		b.runs))
	return nil
}

// step is one measured process.
type step struct {
	name   string
	before func(context.Context) error // not measured
	cmd    *exec.Cmd
	size   string // file or folder whose bytes are shown
}

func (b *bench) loadTurn(ctx context.Context, s *service, results *table) error {
	pages, store, alone := filepath.Join(b.dir, "pages"), filepath.Join(b.dir, "store"), filepath.Join(b.dir, "duckdb")
	for _, dir := range []string{pages, store, alone} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	spendsync := func(args ...string) *exec.Cmd { return s.spendsync(ctx, b.binary, store, args...) }
	sync := func(env ...string) *exec.Cmd {
		cmd := spendsync("sync")
		cmd.Env = append(cmd.Env, env...)
		return cmd
	}
	again := "SPENDSYNC_REREAD_AFTER=0s"
	for _, step := range []step{
		{name: download, cmd: b.child(ctx, "download", s.report, s.authorization, pages), size: pages},
		{name: duckdbAlone, cmd: b.child(ctx, "duckdb", pages, alone), size: filepath.Join(alone, "parquet")},
		{name: firstLoad, cmd: sync(), size: filepath.Join(store, "parquet", "spend_daily")},
		{name: unchanged, cmd: sync(again)},
		{name: restated, before: s.restateCreative, cmd: sync(again)},
		{name: scattered, before: s.restateScattered, cmd: sync(again)},
		{name: hour, before: s.anHourLater, cmd: sync(again)},
		{name: nothingToDo, cmd: sync("SPENDSYNC_YOUNG_DAYS=0")},
		{name: rebuildAlone, cmd: spendsync("rebuild")},
		{name: replayAlone, cmd: spendsync("replay")},
		{name: verifyAlone, cmd: spendsync("verify")},
		{name: allRestated, before: s.restateAll, cmd: sync(again)},
	} {
		if step.before != nil {
			if err := step.before(ctx); err != nil {
				return err
			}
		}
		m, err := measure(step.cmd)
		if err == nil && step.size != "" {
			m.bytes, err = bytesBelow(step.size)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		results.add(step.name, m)
	}
	return s.equalDays(ctx, b.binary, store)
}
