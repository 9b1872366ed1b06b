package notice

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"spendsync/cmd/internal/config"
)

// Finding is a problem that one run found and that a person should know about.
type Finding struct {
	Kind     string `json:"kind"`     // the part before "_" is a word of SPENDSYNC_NOTIFY
	Place    string `json:"place"`    // the campaign, source or other object with the problem
	Since    string `json:"since"`    // first day of the problem in Chicago; "": not known
	Begins   bool   `json:"-"`        // whether it can be reported as new; if not, it only keeps an open one open
	Happened string `json:"happened"` // a sentence without the final period
	Do       string `json:"do"`
}

// Group returns the word that selects the finding in SPENDSYNC_NOTIFY: its kind up to the first "_".
func (f Finding) Group() string {
	name, _, _ := strings.Cut(f.Kind, "_")
	return name
}

// temper delays the reports about a group of findings: a finding must last before its start is reported, and be absent
// before its end is reported.
type temper struct {
	runs    int           // in how many consecutive runs a finding must occur
	absence time.Duration // how long a finding must be absent
	event   bool          // whether the findings are events, whose end is not reported
}

// tempers has the groups of findings whose start or end is not reported at once, or whose end is never reported. Failed
// runs wait because the next run may repair them; the others wait because hourly numbers may cross a limit several
// times.
var tempers = map[string]temper{
	"failed":   {runs: 2},
	"break":    {absence: 48 * time.Hour},
	"leak":     {absence: 48 * time.Hour},
	"loses":    {absence: 48 * time.Hour},
	"block":    {absence: 48 * time.Hour},
	"settings": {event: true},
}

// state has the open findings of one account, and the messages that are not sent yet. It is stored as a file of
// [Folder].
type state struct {
	Open    []open               `json:"open"`
	Waiting map[string][]Message `json:"waiting"` // for each receiver, the oldest first
}

// open is a finding that started and has not ended. Told means that its start was reported, with the text of the
// finding at that time.
type open struct {
	ID string `json:"id"`
	Finding
	Runs     int       `json:"runs"`
	Told     bool      `json:"told"`
	LastSeen time.Time `json:"last_seen"`
}

// Message reports the start or the end of a finding. If it is sent again, it has the same ID.
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

// maxWaiting is how many unsent messages are kept for one receiver. If there are more, the oldest are deleted.
const maxWaiting = 500

// Run is what notices need to know of a run.
type Run struct {
	Account    string
	At         time.Time
	Generation int64
	Findings   []Finding
	// Knows reports whether the run could look for findings of a group. If it could not, open findings of that group
	// stay open.
	Knows func(group string) bool
}

// update returns the state after a run. When a finding starts or ends, it adds a message for each receiver. It drops
// messages for receivers that are no longer configured.
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
		case there && !o.Told && !f.Begins: // it weakened before its start was reported: forget it
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

// keepOpen adds a finding whose start was not reported before this run. It reports the start now if the finding has
// occurred in enough runs.
func (s *state) keepOpen(o open, r Run) {
	if o.Told = o.Runs >= tempers[o.Group()].runs; o.Told {
		s.say(o, Begins, r)
	}
	s.Open = append(s.Open, o)
}

// say adds a message for every receiver about the start (Begins) or the end (Over) of a finding.
func (s *state) say(o open, what string, r Run) {
	for to := range s.Waiting {
		s.Waiting[to] = append(s.Waiting[to], Message{ID: o.ID, State: what, Finding: o.Finding, At: r.At,
			Generation: r.Generation})
	}
}

// idOf returns the ID of a finding: its kind, and a hash of the account, the kind, the place and the time of the run.
// It is computed only in the run that first sees the finding.
func idOf(r Run, f Finding) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{r.Account, f.Kind, f.Place,
		r.At.UTC().Format(time.RFC3339Nano)}, "\x00")))
	return f.Kind + "-" + hex.EncodeToString(sum[:6])
}
