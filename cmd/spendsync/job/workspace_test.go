package job

import "testing"

// TestWorkspaces_TwoLargeDaysAtATime: two days reach the limit of rows, however large
// they are; a third begins when one of them is done.
func TestWorkspaces_TwoLargeDaysAtATime(t *testing.T) {
	pool := newWorkspaces()
	full := func() bool {
		if !pool.rows.TryAcquire(1) {
			return true
		}
		pool.rows.Release(1)
		return false
	}
	leases := [4]lease{{pool: pool}, {pool: pool}, {pool: pool}, {pool: pool}}
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
	if !pool.rows.TryAcquire(maxRowsInFlight) {
		t.Error("not all rows were released")
	}
}
