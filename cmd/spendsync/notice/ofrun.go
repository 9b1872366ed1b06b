package notice

import (
	"fmt"
	"strconv"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/job"
)

// keyWarning is how long before the expiry of the API key a notice about it is sent.
const keyWarning = 7 * 24 * time.Hour

// OfRun returns the findings about the run itself: how it ended, and whether the key expires soon.
func OfRun(code int, result *job.Result, now time.Time) (all []Finding) {
	switch code {
	case exit.OK, exit.Stopped, exit.DayAtRisk: // days at risk are reported as findings of their own
	case exit.Auth:
		all = append(all, Finding{Kind: "account", Place: "credentials", Begins: true,
			Happened: "the service refuses the user, the password or the API key, or they act on another account",
			Do:       "check them with 'spendsync check': days are lost from the 33rd on"})
	default:
		all = append(all, Finding{Kind: "failed", Place: strconv.Itoa(code), Begins: true,
			Happened: fmt.Sprintf("runs end with exit %d: %s", code, exit.About(code).Means),
			Do:       "see the end of the run's log, and 'spendsync status'"})
	}
	if result == nil || !result.KeyExpires.Valid {
		return all
	}
	if left := result.KeyExpires.V.Time().Sub(now); left < keyWarning {
		all = append(all, Finding{Kind: "account", Place: "key", Begins: true,
			Happened: "the API key expires at " + result.KeyExpires.V.Time().UTC().Format("2006-01-02 15:04 UTC"),
			Do:       "make a new one and put it in place of the old"})
	}
	return all
}
