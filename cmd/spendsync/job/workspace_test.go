package job

import (
	"testing"

	"golang.org/x/sync/semaphore"
)

// TestLease_TwoLargeDaysAtATime: two days reach the limit of rows, however large
// they are; a third begins when one of them is done.
func TestLease_TwoLargeDaysAtATime(t *testing.T) {
	inFlight := semaphore.NewWeighted(maxRowsInFlight)
	full := func() bool {
		if !inFlight.TryAcquire(1) {
			return true
		}
		inFlight.Release(1)
		return false
	}
	leases := [4]lease{{inFlight: inFlight}, {inFlight: inFlight}, {inFlight: inFlight}, {inFlight: inFlight}}
	take := func(i int, rows int64) {
		t.Helper()
		if err := leases[i].acquire(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
	}
	take(0, 50_000_000)
	take(1, 0)
	if full() {
		t.Error("one large day reaches the limit")
	}
	take(2, maxRowsInFlight)
	if !full() {
		t.Error("two large days are below the limit")
	}
	take(2, maxRowsInFlight) // read again
	leases[0].release()
	take(3, 100_000)
	if full() {
		t.Error("a large day and a small one reach the limit")
	}
	for i := range leases {
		leases[i].release()
	}
	if !inFlight.TryAcquire(maxRowsInFlight) {
		t.Error("not all rows were released")
	}
}
