package job

import (
	"context"
	"errors"
	"fmt"

	"spendsync/extract"
	"spendsync/load"
	"spendsync/schema"
	"spendsync/transform"
)

// readAccount reads the balance and the change budgets. Each stands for itself: one that
// cannot be read, or not be understood, keeps the other not back. Neither has an ID that tells
// whose it is, so the key must act on its account after both, too.
func (n *settingsReader) readAccount(ctx context.Context, key keyProof) *accountRead {
	who := key.who
	limits, limitsErr := n.s.API.Limits(ctx)
	if limitsErr != nil {
		n.fail("account", "limits", "failed", limitsErr)
		n.noteThatIsNotThere(limitsErr)
	}
	balance, balanceErr := n.s.API.Balance(ctx)
	if balanceErr != nil {
		n.fail("account", "balance", "failed", balanceErr)
	}
	if err := n.s.confirmKey(ctx, key); err != nil {
		n.fail("account", "balance", "failed", err)
		return nil
	}
	at := schema.InstantOf(n.s.Now())
	read := transform.Account(who.me, limits, balance, at, n.context())
	a := &accountRead{limits: read.Limits}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.addKeys("account", read.Key)
	n.addKeys("account", read.Decoded)
	for stream, e := range map[string]extract.Entity{"me": who.me, "limits": limits, "balance": balance} {
		found := transform.ExtraKeysIn(string(e.Raw), n.read.readKeys["account"])
		n.read.undescribed = append(n.read.undescribed, n.s.undescribed(stream, at, found)...)
	}
	if balanceErr == nil {
		a.snapshot = &read.Snapshot
		n.note("account", "balance", balanceColumns, read.Decoded)
	}
	return a
}

// noteThatIsNotThere turns the failure into a difference that may become a standing note, if the service has nothing
// under the path of the limits: no campaign and no number depends on them, and no user can change that.
func (n *settingsReader) noteThatIsNotThere(err error) {
	e, ok := errors.AsType[*extract.ReadError](err)
	if !ok || e.Status != 404 && e.Status != 410 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.read.findings {
		if f := &n.read.findings[i]; f.what == "account limits" {
			f.severity, f.notes = differs, []string{fmt.Sprintf("account.limits.status-%d", e.Status)}
		}
	}
}

// balanceColumns are what the balance states.
var balanceColumns = []string{"balance", "payment_mode", "average_daily_spend", "days_left", "balance_status",
	"message"}

// sameMoney reports whether two rows have the same account money.
func sameMoney(x, y schema.AccountSnapshot) bool {
	x.SeenAt, x.RunID, x.Raw, y.SeenAt, y.RunID, y.Raw = 0, "", schema.Null[string]{}, 0, "", schema.Null[string]{}
	return x == y
}

// sameBudget reports whether two rows have the same budget.
func sameBudget(x, y schema.AccountLimit) bool {
	return x.Used == y.Used && x.Allowed == y.Allowed && x.ResetsAt == y.ResetsAt
}

// stage adds what differs from the newest stored rows.
func (a *accountRead) stage(store *load.Store, area *load.Area, to *load.Part) error {
	snapshots, err := load.StoredTable(store, schema.AccountSnapshots)
	if err != nil {
		return err
	}
	if k := len(snapshots); a.snapshot != nil && (k == 0 || !sameMoney(snapshots[k-1], *a.snapshot)) {
		if k > 0 { // the clock was set back: the values read now are still the newer ones
			a.snapshot.SeenAt = max(a.snapshot.SeenAt, snapshots[k-1].SeenAt+1)
		}
		snapshots = append(snapshots, *a.snapshot)
	}
	if err := load.PutTable(store, area, to, schema.AccountSnapshots, snapshots); err != nil {
		return err
	}
	limits, err := load.StoredTable(store, schema.AccountLimits)
	if err != nil {
		return err
	}
	newest := map[string]schema.AccountLimit{}
	for _, l := range limits {
		newest[l.LimitKind] = l
	}
	for _, l := range a.limits {
		was, known := newest[l.LimitKind]
		if known {
			l.SeenAt = max(l.SeenAt, was.SeenAt+1)
		}
		if !known || !sameBudget(was, l) {
			limits = append(limits, l)
		}
	}
	return load.PutTable(store, area, to, schema.AccountLimits, limits)
}
