package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
)

// binaries are the programs that are measured, and the service that they read.
type binaries struct {
	spendsync string
	unlimited string // spendsync that does not wait for the limit of the key
	clocked   string // such a spendsync, which takes the time from benchNow
	adsim     string
	self      string
}

// forLoads is the binary that the loads are measured with: the settings of many campaigns
// take more requests than a minute allows.
func (bin binaries) forLoads(o options) string {
	if o.shape == many {
		return bin.unlimited
	}
	return bin.spendsync
}

func build(ctx context.Context, o options) (bin binaries, err error) {
	if bin.self, err = os.Executable(); err != nil {
		return bin, err
	}
	g, ctx := errgroup.WithContext(ctx)
	start := func(to *string, name, command string, flags ...string) {
		g.Go(func() (err error) {
			*to, err = goBuild(ctx, o.dir, name, command, flags...)
			return err
		})
	}
	start(&bin.adsim, "adsim", "adsim")
	if len(o.rows) > 0 || o.history > 0 || o.waits {
		start(&bin.spendsync, "spendsync", "spendsync")
	}
	if (len(o.campaigns) > 0 || o.shape == many) && !o.waits {
		overlay, err := overlay(ctx, filepath.Join(o.dir, "unlimited"), noWaits)
		if err != nil {
			return bin, errors.Join(err, g.Wait())
		}
		start(&bin.unlimited, "spendsync-unlimited", "spendsync", "-overlay", overlay)
	}
	if o.month > 0 {
		overlay, err := overlay(ctx, filepath.Join(o.dir, "clocked"), noWaits, otherClock)
		if err != nil {
			return bin, errors.Join(err, g.Wait())
		}
		start(&bin.clocked, "spendsync-clocked", "spendsync", "-overlay", overlay)
	}
	err = g.Wait()
	if o.waits {
		bin.unlimited = bin.spendsync
	}
	return bin, err
}

// goBuild builds one of our commands into a folder, without symbols, as a release is built.
func goBuild(ctx context.Context, dir, name, command string, flags ...string) (path string, err error) {
	path = filepath.Join(dir, name)
	args := append([]string{"build", "-ldflags=-s -w", "-o", path}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, "spendsync/cmd/"+command)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", command, err, out)
	}
	return path, nil
}

// change is what an overlay changes in one file: text of it, which is there once.
type change struct{ pkg, file, old, new string }

// noWaits lets a request count for a millisecond instead of a minute. It is not a setting,
// because no user should be able to lift the limit.
var noWaits = change{"spendsync/extract", "limit.go",
	"const limitWindow = time.Minute + 250*time.Millisecond\n", "const limitWindow = time.Millisecond\n"}

// benchNow is the variable with the time at which a clocked spendsync starts.
const benchNow = "BENCH_NOW"

// otherClock starts the clock at benchNow.
var otherClock = change{"spendsync/cmd/spendsync", "run.go", "now: time.Now,", `now: func() func() time.Time {
	began, at := time.Now(), time.Now()
	for _, v := range environ {
		if text, ok := strings.CutPrefix(v, "` + benchNow + `="); ok {
			at, _ = time.Parse(time.RFC3339, text)
		}
	}
	return func() time.Time { return at.Add(time.Since(began)) }
}(),`}

// overlay writes an -overlay for go build, with the changes, into a folder.
func overlay(ctx context.Context, dir string, changes ...change) (path string, err error) {
	// The folder may be relative, and go build needs absolute paths.
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for _, c := range changes {
		where, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", c.pkg).Output()
		if err != nil {
			return "", fmt.Errorf("go list %s: %w", c.pkg, err)
		}
		source := filepath.Join(strings.TrimSpace(string(where)), c.file)
		text, err := os.ReadFile(source)
		if err != nil {
			return "", err
		}
		if strings.Count(string(text), c.old) != 1 {
			return "", fmt.Errorf("%s does not hold %q once; what needs it can't be measured", source, c.old)
		}
		replace[source] = filepath.Join(dir, c.file+".txt")
		text = bytes.Replace(text, []byte(c.old), []byte(c.new), 1)
		if err := os.WriteFile(replace[source], text, 0o644); err != nil {
			return "", err
		}
	}
	names, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, names, 0o644)
}
