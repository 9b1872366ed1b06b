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
		overlay, err := withoutWaits(ctx, o.dir)
		if err != nil {
			return bin, errors.Join(err, g.Wait())
		}
		start(&bin.unlimited, "spendsync-unlimited", "spendsync", "-overlay", overlay)
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

// limitMinute is the line of extract/limit.go that says how long a request counts.
const limitMinute = "const limitWindow = time.Minute + 250*time.Millisecond\n"

// withoutWaits writes an -overlay for go build with which a request counts for a
// millisecond instead of a minute. It is not a setting, because no user should be
// able to lift the limit.
func withoutWaits(ctx context.Context, dir string) (overlay string, err error) {
	where, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "spendsync/extract").Output()
	if err != nil {
		return "", fmt.Errorf("go list spendsync/extract: %w", err)
	}
	source := filepath.Join(strings.TrimSpace(string(where)), "limit.go")
	text, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	if bytes.Count(text, []byte(limitMinute)) != 1 {
		return "", fmt.Errorf("%s does not hold %q; -waits measures without it", source, limitMinute)
	}
	text = bytes.Replace(text, []byte(limitMinute), []byte("const limitWindow = time.Millisecond\n"), 1)
	// The folder may be relative, and go build needs absolute paths.
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	changed := filepath.Join(dir, "limit.go.txt")
	if err := os.WriteFile(changed, text, 0o644); err != nil {
		return "", err
	}
	names, err := json.Marshal(map[string]map[string]string{"Replace": {source: changed}})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, names, 0o644)
}
