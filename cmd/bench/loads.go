package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// sizedTable holds the measurements of a report of that many rows.
type sizedTable struct {
	rows  int
	table *table
}

// loads measures everything that concerns one size of the report, in turns.
func (b *bench) loads(ctx context.Context, rows int) (measured sizedTable, err error) {
	s, err := startService(ctx, b.bin, reportOf(rows, b.options))
	if err != nil {
		return measured, err
	}
	defer s.stop()
	if !near(s.rows, rows) {
		b.say("the report has %d rows where %d were asked for; more -creatives spread better", s.rows, rows)
	}
	measured = sizedTable{rows: s.rows, table: &table{}}
	for turn := range b.options.runs {
		b.say("%d rows: turn %d of %d", s.rows, turn+1, b.options.runs)
		if err := b.loadTurn(ctx, s, measured.table); err != nil {
			return measured, err
		}
	}
	measured.table.print(b.stdout, fmt.Sprintf("%d rows over %d days, %s campaigns, %d turns", s.rows, days,
		b.options.shape, b.options.runs))
	printResults(b.stdout, append(measured.table.results(), memory(measured)...))
	return measured, nil
}

// near reports whether a is within 15 percent of b.
func near(a, b int) bool { return 100*a >= 85*b && 100*a <= 115*b }

// step is one measured process.
type step struct {
	name   string
	before func(context.Context) error // not measured
	cmd    *exec.Cmd
	size   string // file or folder whose bytes are shown
	rate   bool   // it prints the MB/s that it decoded
}

func (b *bench) loadTurn(ctx context.Context, s *service, results *table) error {
	dir := b.options.dir
	pages, store, alone := filepath.Join(dir, "pages"), filepath.Join(dir, "store"), filepath.Join(dir, "duckdb")
	for _, dir := range []string{pages, store, alone} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	child := func(name string, args ...string) *exec.Cmd { return b.child(ctx, name, args...) }
	spendsync := func(args ...string) *exec.Cmd { return s.spendsync(ctx, b.bin.forLoads(b.options), store, args...) }
	sync := func(env ...string) *exec.Cmd {
		cmd := spendsync("sync")
		cmd.Env = append(cmd.Env, env...)
		return cmd
	}
	again := "SPENDSYNC_REREAD_AFTER=0s"
	for _, step := range []step{
		{name: download, cmd: child("download", s.report, s.authorization, pages), size: pages},
		{name: decodeOnly, cmd: child("decode", pages), rate: true},
		{name: decodeStrict, cmd: child("decode-strictly", pages), rate: true},
		{name: duckdbAlone, cmd: child("duckdb", pages, alone), size: filepath.Join(alone, "parquet")},
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
		m, err := step.measure()
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		results.add(step.name, m)
	}
	_, err := s.equalDays(ctx, b.bin.forLoads(b.options), store)
	return err
}

func (s *step) measure() (m measurement, err error) {
	m, output, err := measure(s.cmd)
	if err == nil && s.size != "" {
		m.bytes, err = bytesBelow(s.size)
	}
	if err == nil && s.rate {
		m.rate, err = strconv.ParseFloat(strings.TrimSpace(output), 64)
	}
	return m, err
}
