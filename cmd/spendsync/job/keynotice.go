package job

import (
	"time"

	"spendsync/schema"
)

// KeyNotice is how long before the expiry of the API key the runs begin to warn in the log. The service's own warnings
// begin at the same time.
const KeyNotice = 14 * 24 * time.Hour

// keyExpires returns when the API key expires, or NULL if the service does not state it. It logs a warning if the key
// expires soon: an expired key stops only the settings, and the published numbers would not show that.
func (r *session) keyExpires() (expires schema.Null[schema.Instant]) {
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
