package job

import (
	"context"
	"errors"
	"fmt"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract"
	"spendsync/schema"
	"spendsync/transform"
)

// identity is whom the API key acts for.
type identity struct {
	account string // the service's own name of the advertiser account
	me      extract.Entity
}

// identityWait is how long the report's numbers wait for the answer of whom the
// key acts for, once they are ready.
const identityWait = 15 * time.Second

var (
	errNoIdentity = errors.New("the service has not said yet whom the key acts for")
	errUnnamed    = errors.New("the reply does not name the account that the key acts on")
)

// askIdentity asks whom the key acts for while the report is being read.
func (r *run) askIdentity(ctx context.Context) {
	done := make(chan struct{})
	var who identity
	var err error
	r.asking.Go(func() {
		defer close(done)
		if who.me, err = r.API.Me(ctx); err == nil {
			if who.account, err = transform.AccountRef(who.me); err != nil {
				err = fmt.Errorf("%w: %w", errUnnamed, err)
			}
		}
	})
	r.identity = func(wait time.Duration) (identity, error) {
		select {
		case <-done:
			return who, err
		case <-time.After(wait):
			return identity{}, errNoIdentity
		}
	}
}

// CheckPinned is the one rule of which account a key may act on: the one that the
// first run's key acted on, if there was one. Under one name two accounts would be
// mixed for ever.
func CheckPinned(name, pinned, actual string) error {
	if pinned == "" || actual == pinned {
		return nil
	}
	return fmt.Errorf(
		"%w: account %s in this warehouse is %q, the key acts on %q; use another SPENDSYNC_ACCOUNT or the right key",
		exit.ErrOtherAccount, name, pinned, actual)
}

// refuseOtherAccount stops a run whose key acts on another account than the pinned
// one. A key that cannot be asked about does not hold the numbers back; the settings
// report it.
func (r *run) refuseOtherAccount(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	who, err := r.identity(identityWait)
	if err != nil {
		return nil
	}
	if err := CheckPinned(r.Account, r.store.Account().Pinned, who.account); err != nil {
		return err
	}
	// Pinned here, where the answer is known: asking again would wait again.
	r.staged.PinAccount(who.account)
	return nil
}

// KeyNotice is how long before its end a key is warned of, as the service does.
const KeyNotice = 14 * 24 * time.Hour

// keyExpires is when the API key ends, where the service says so. It warns of a key
// that ends soon: after that the settings stop, and nobody would notice from the
// numbers.
func (r *run) keyExpires() (expires schema.Null[schema.Instant]) {
	at, warning, ok := r.API.KeyNotice()
	if !ok {
		return expires
	}
	if !at.IsZero() {
		expires = schema.Some(schema.InstantOf(at))
	}
	if warning != "" || (!at.IsZero() && at.Sub(r.Now()) < KeyNotice) {
		r.Log.Warn("the API key expires soon; renew it on the dashboard's API access page, the key itself "+
			"stays the same",
			"expires_at", expires.V.String(), "service_says", warning)
	}
	return expires
}

// warnOfRepeatedSecrets reports that the service writes the credentials into its replies.
// They are removed before anything is stored, but whoever else sees the replies reads them.
func (r *run) warnOfRepeatedSecrets() {
	if n := r.Report.Stats().Repeated + r.API.Stats().Repeated; n > 0 {
		r.Log.Warn("the service repeats the credentials in its replies; nothing of them is stored, but its logs may "+
			"hold them, too: report it to the service, and then renew the password and the key",
			"replies", n)
	}
}
