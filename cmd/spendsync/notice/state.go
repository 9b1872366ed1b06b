package notice

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"spendsync/cmd/internal/config"
)

// Finding is a problem that somebody should know about, as one run found it.
type Finding struct {
	Kind     string `json:"kind"`     // SPENDSYNC_NOTIFY names the part before "_"
	Place    string `json:"place"`    // the campaign, source or other object with the problem
	Since    string `json:"since"`    // first Chicago day of the problem; "": not known
	Begins   bool   `json:"-"`        // false: the finding is not reported as new, but keeps a reported finding open
	Happened string `json:"happened"` // a sentence without the final period
	Do       string `json:"do"`
}

// Group returns the kind of SPENDSYNC_NOTIFY that the finding belongs to.
func (f Finding) Group() string {
	name, _, _ := strings.Cut(f.Kind, "_")
	return name
}

// temper is how long a finding of a group must last before its start is reported, and be absent before its end is
// reported.
type temper struct {
	runs    int           // consecutive runs with the finding before it is reported
	absence time.Duration // how long it must be absent before its end is reported
	event   bool          // findings are events, which do not end
}

// tempers lists the groups whose findings are not reported at once, or never end. The waiting is needed because hourly
// numbers cross a limit back and forth, and because the next run makes up for a failed run.
var tempers = map[string]temper{
	"failed":   {runs: 2},
	"break":    {absence: 48 * time.Hour},
	"leak":     {absence: 48 * time.Hour},
	"loses":    {absence: 48 * time.Hour},
	"block":    {absence: 48 * time.Hour},
	"settings": {event: true},
	"key":      {event: true},
}

// state is the state of the notices of one account. The state is kept in a file of [Folder].
type state struct {
	Open    []open               `json:"open"`
	Waiting map[string][]Message `json:"waiting"` // for each receiver, the oldest first
}

// open is a finding that has started and has not ended, with the text of its report.
type open struct {
	ID string `json:"id"`
	Finding
	Runs     int       `json:"runs"`
	Told     bool      `json:"told"`
	LastSeen time.Time `json:"last_seen"`
}

// Message reports the start or the end of a finding. Its ID is the same each time it is sent.
type Message struct {
	ID    string `json:"id"`
	State string `json:"state"` // begins, over
	Finding
	At         time.Time `json:"at"`
	Generation int64     `json:"generation"`
}

// The states of a message.
const (
	Begins = "begins"
	Over   = "over"
)

// maxWaiting limits the messages that wait for an unreachable receiver. If there are more, the oldest are dropped.
const maxWaiting = 500

// Run is the part of a run's result that notices need.
type Run struct {
	Account    string
	At         time.Time
	Generation int64
	Findings   []Finding
	// Knows reports whether the run was able to look for findings of a group. Findings of other groups neither start
	// nor end.
	Knows func(group string) bool
}

// update returns the state after a run. It adds a message for each receiver when a finding starts and when it ends.
// Waiting messages for receivers that are no longer configured are dropped.
func (s state) update(r Run, receivers []config.Receiver) state {
	next := state{Waiting: map[string][]Message{}}
	for _, to := range receivers {
		next.Waiting[to.Name] = slices.Clone(s.Waiting[to.Name])
	}
	type key struct{ kind, place string }
	seen := map[key]Finding{}
	for _, f := range r.Findings {
		seen[key{f.Kind, f.Place}] = f
	}
	for _, o := range s.Open {
		f, there := seen[key{o.Kind, o.Place}]
		delete(seen, key{o.Kind, o.Place})
		t := tempers[o.Group()]
		switch {
		case there && !o.Told && !f.Begins: // the finding ended before its start was reported
		case there && !o.Told:
			next.keepOpen(open{ID: o.ID, Finding: f, Runs: o.Runs + 1, LastSeen: r.At}, r)
		case there:
			o.LastSeen = r.At
			next.Open = append(next.Open, o)
		case !r.Knows(o.Group()) || o.Told && r.At.Sub(o.LastSeen) < t.absence:
			next.Open = append(next.Open, o)
		case o.Told && !t.event:
			next.say(o, Over, r)
		}
	}
	for _, f := range r.Findings {
		if _, isNew := seen[key{f.Kind, f.Place}]; isNew && f.Begins {
			delete(seen, key{f.Kind, f.Place})
			next.keepOpen(open{ID: idOf(r, f), Finding: f, Runs: 1, LastSeen: r.At}, r)
		}
	}
	for to, all := range next.Waiting {
		next.Waiting[to] = all[max(0, len(all)-maxWaiting):]
	}
	return next
}

// keepOpen adds a finding that was not reported yet to the open findings. The finding is reported as soon as it has
// lasted long enough.
func (s *state) keepOpen(o open, r Run) {
	if o.Told = o.Runs >= tempers[o.Group()].runs; o.Told {
		s.say(o, Begins, r)
	}
	s.Open = append(s.Open, o)
}

// say adds a message about the start or the end of a finding, for every receiver.
func (s *state) say(o open, what string, r Run) {
	for to := range s.Waiting {
		s.Waiting[to] = append(s.Waiting[to], Message{ID: o.ID, State: what, Finding: o.Finding, At: r.At,
			Generation: r.Generation})
	}
}

// idOf returns the ID of a finding: its kind, and a hash of the account, the kind, the place and the time of the run
// that first saw it.
func idOf(r Run, f Finding) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{r.Account, f.Kind, f.Place,
		r.At.UTC().Format(time.RFC3339Nano)}, "\x00")))
	return f.Kind + "-" + hex.EncodeToString(sum[:6])
}
