package job

import (
	"time"

	"spendsync/schema"
)

// KeyNotice is the time before the expiry of the API key from which each run warns. The service warns from the same
// time on.
const KeyNotice = 14 * 24 * time.Hour

// keyExpires returns when the API key expires, if the service states it. It warns if the key expires soon: without the
// key no settings are read, and the published numbers would not show that.
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
