package job

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"spendsync/extract"
	"spendsync/load"
)

// TestTally_NamesTheCause: days that were broken off because the credentials were
// refused are not failures of their own.
func TestTally_NamesTheCause(t *testing.T) {
	var failed tally
	failed.planned = 4
	failed.fail("spend 2026-03-06", fmt.Errorf("spend 2026-03-06: %w", context.Canceled))
	failed.fail("spend 2026-03-07", fmt.Errorf("403: %w", extract.ErrAuth))
	failed.fail("spend 2026-03-08", fmt.Errorf("spend 2026-03-08: %w", context.Canceled))
	text := failed.sentence(load.Preview{}, false, "")
	if strings.Contains(text, "canceled") || strings.Contains(text, "more") || !strings.Contains(text, "403") {
		t.Error(text)
	}
}

// TestFailure_NamesTheVariable: what the service states of page_size is set by a variable.
func TestFailure_NamesTheVariable(t *testing.T) {
	f := failure{what: "spend 2026-03-08",
		err: fmt.Errorf("400: page_size cannot exceed 5000: %w", extract.ErrContract)}
	if !strings.Contains(f.String(), "SPENDSYNC_PAGE_SIZE") {
		t.Error(f)
	}
}
