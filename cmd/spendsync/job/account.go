package job

import (
	"context"
	"errors"
	"fmt"

	"spendsync/extract"
	"spendsync/schema"
	"spendsync/transform"
)

// accountRead is the account's money and budgets as this run saw them.
type accountRead struct {
	snapshot *schema.AccountSnapshot // nil: the balance could not be read
	limits   []schema.AccountLimit
}

// readAccount reads the balance and the limits on changes. If one request fails, the other reply is still used. Neither
// reply names an account, so both must be of the API key's account. They are stored only if the service or the
// operator's service file names that account, and if the key still acts on it after the two reads.
func readAccount(ctx context.Context, n *settingsReader, key keyProof) *accountRead {
	who := key.who
	if who.account == "" && n.s.Service.Text("account.id") == "" {
		if key.err != nil || key.meErr != nil {
			return nil // the finding about the API key reports the error
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		n.settings.findings = append(n.settings.findings, finding{isRemark: true,
			err: errors.New("the balance and the limits are not stored: the service does not name the account of the " +
				"API key, and neither does a line account.id of SPENDSYNC_SERVICE_FILE")})
		return nil
	}
	limits, limitsErr := n.s.API.Limits(ctx)
	if limitsErr != nil {
		var notes []string
		// A person may accept that the service has no limits: no campaign and no number depends on the limits.
		if e, ok := errors.AsType[*extract.ReadError](limitsErr); ok && (e.Status == 404 || e.Status == 410) {
			notes = []string{fmt.Sprintf("account.limits.status-%d", e.Status)}
		}
		n.fail("account", "limits", "failed", limitsErr, notes...)
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
	n.settings.addKeys("account", read.Key)
	n.settings.addKeys("account", read.Decoded)
	for stream, e := range map[string]extract.Entity{"me": who.me, "limits": limits, "balance": balance} {
		for path, kind := range transform.ExtraKeysIn(string(e.Raw), n.settings.readKeys["account"]) {
			n.settings.undescribed = append(n.settings.undescribed, schema.UnknownField{AccountID: n.s.Account,
				Stream: stream, Path: path, SampleType: kind})
		}
	}
	if balanceErr == nil {
		a.snapshot = &read.Snapshot
		j := newJudgement(n.s, n.settings, "account", "account")
		j.add("balance", &read.Decoded, func(string) bool { return true })
		j.report()
	}
	return a
}
