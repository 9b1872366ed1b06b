package job

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"spendsync/extract"
	"spendsync/schema"
)

// endingNote is the prefix of the names of notes about announced endings.
const endingNote = "service.ends."

// announced is the end of a path, as the headers Deprecation and Sunset announce it. It is a note: a person has to
// know of it, and after three runs it ends none with exit 4 any more.
type announced struct{ extract.Ending }

// endings returns what the service has announced in this run.
func (s *session) endings() (all []announced) {
	for _, e := range append(s.Report.Endings(), s.API.Endings()...) {
		all = append(all, announced{e})
	}
	return all
}

var notInNames = regexp.MustCompile(`[^a-z0-9-]+`)

// when is the part of a note's name that tells announcements apart. Which path is the first to show one is chance.
func (a announced) when() string {
	return strings.Trim(notInNames.ReplaceAllString(strings.ToLower(cmp.Or(a.Sunset, a.Deprecated)), "-"), "-")
}

// foundEndings adds what the service has announced, each time once.
func (r *run) foundEndings() {
	for _, e := range r.s.endings() {
		name := endingNote + e.when()
		if !slices.ContainsFunc(r.tally.findings, func(f finding) bool { return slices.Contains(f.notes, name) }) {
			r.tally.found(differs, []string{name}, "%s", e)
		}
	}
}

const endsOn = "the service announces that a path ends on "

func (a announced) String() string {
	text := "the service announces that a path ends"
	if a.Sunset != "" {
		text = endsOn + a.Sunset
	}
	if a.Deprecated != "" {
		text += ", deprecated: " + a.Deprecated
	}
	return text + " (" + a.Path + "); look for a newer version of spendsync"
}

// KeyNotice is how long before its end a key is warned of, as the service does.
const KeyNotice = 14 * 24 * time.Hour

// keyExpires returns when the API key expires, if the service states it. It warns if that is soon: without the key
// the settings stop, and the numbers would not show it.
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

// warnOfTheService warns of ends that the service announces, and of credentials in its replies. These are removed
// before anything is stored, but other readers of the replies see them.
func (r *session) warnOfTheService() {
	for _, e := range r.endings() {
		r.Log.Warn("the service announces that a path ends; look for a newer version of spendsync", "path", e.Path,
			"deprecated", e.Deprecated, "sunset", e.Sunset)
	}
	if n := r.Report.Stats().Repeated + r.API.Stats().Repeated; n > 0 {
		r.Log.Warn("the service repeats the credentials in its replies; nothing of them is stored, but its logs may "+
			"hold them, too: report it to the service, and then renew the password and the key",
			"replies", n)
	}
}
