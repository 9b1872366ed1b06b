package output

import (
	"strings"
	"testing"

	"spendsync/cmd/spendsync/exit"
)

func TestCheckTempDir_SaysWhatItIsFor(t *testing.T) {
	for dir, ok := range map[string]bool{"/dev/null": false, t.TempDir(): true, "/not/there": true} {
		t.Setenv("TMPDIR", dir)
		err := CheckTempDir()
		if (err == nil) != ok || err != nil && (exit.Of(err) != exit.Usage ||
			!strings.Contains(err.Error(), "memory limit")) {
			t.Errorf("TMPDIR=%s: %v", dir, err)
		}
	}
}
