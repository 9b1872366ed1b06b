package main

import (
	"io/fs"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestSync_WritesNothingForOthersToWrite: with any umask, no file or folder of the store, or of the metrics,
// can be written by the group or by others.
func TestSync_WritesNothingForOthersToWrite(t *testing.T) {
	w := newWorld(t, small)
	metrics := filepath.Join(t.TempDir(), "m.prom")
	w.env["METRICS_FILE"] = metrics
	for _, umask := range []string{"000", "077", "002"} {
		cmd := w.start(t.Context(), "sync")
		sh := exec.CommandContext(t.Context(), "sh", "-c", `umask `+umask+`; exec "$0" "$@"`)
		sh.Args, sh.Env = append(sh.Args, cmd.Args...), cmd.Env
		if out, err := sh.CombinedOutput(); err != nil {
			t.Fatalf("umask %s: %v\n%s", umask, err, out)
		}
		seen := 0
		for _, root := range []string{w.dir, metrics} {
			err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				info, err := d.Info()
				if err == nil && info.Mode().Perm()&0o022 != 0 {
					t.Errorf("umask %s: %s is %v", umask, path, info.Mode())
				}
				seen++
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if seen < 50 {
			t.Errorf("umask %s: only %d files", umask, seen)
		}
	}
}
