package notice

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// Finding is a problem that somebody should hear about, as one run sees it.
type Finding struct {
	Kind     string `json:"kind"`     // the part before "_" is the kind of SPENDSYNC_NOTIFY
	Place    string `json:"place"`    // the campaign, source or the like that it concerns
	Since    string `json:"since"`    // first Chicago day of the problem; "": not known
	Begins   bool   `json:"-"`        // false: it only keeps a reported finding open
	Happened string `json:"happened"` // a sentence without the final period
	Do       string `json:"do"`
}

// Group returns the kind of SPENDSYNC_NOTIFY that the finding belongs to.
func (f Finding) Group() string {
	name, _, _ := strings.Cut(f.Kind, "_")
	return name
}

// temper is how long a finding of a group must last, or stay away, before that is reported.
type temper struct {
	runs    int           // consecutive runs with the finding before it is reported
	absence time.Duration // how long it must be absent before its end is reported
	event   bool          // it has no end
}

// tempers are the groups whose findings are not reported at once, or never end. Hourly numbers cross their limits
// back and forth; the next run makes up for a failed one.
var tempers = map[string]temper{
	"failed":   {runs: 2},
	"break":    {absence: 48 * time.Hour},
	"leak":     {absence: 48 * time.Hour},
	"loses":    {absence: 48 * time.Hour},
	"block":    {absence: 48 * time.Hour},
	"settings": {event: true},
	"key":      {event: true},
}

// state is the state of the notices of one account. It is kept in the store.
type state struct {
	Open   []open    `json:"open"`
	Outbox []Message `json:"outbox"`
}

// open is a finding that has started and has not ended, in its words as it was reported.
type open struct {
	ID string `json:"id"`
	Finding
	Runs     int       `json:"runs"`
	Told     bool      `json:"told"`
	LastSeen time.Time `json:"last_seen"`
}

// Message reports the start or the end of a finding. It has the ID of the finding, however often it is sent.
type Message struct {
	ID    string `json:"id"`
	State string `json:"state"` // begins, over
	Finding
	At         time.Time `json:"at"`
	Generation int64     `json:"generation"`
	To         []string  `json:"to,omitempty"` // receivers that have not accepted it
}

// The states of a message.
const (
	Begins = "begins"
	Over   = "over"
)

// maxOutbox limits the messages that wait for an unreachable receiver. The oldest are dropped.
const maxOutbox = 500

// Run is the result of one run, as far as notices need it.
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
func (s state) update(r Run, receivers []string) state {
	next := state{Outbox: slices.Clone(s.Outbox)}
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
		case there && !o.Told && !f.Begins: // it ended before it was reported
		case there && !o.Told:
			next.keepOpen(open{ID: o.ID, Finding: f, Runs: o.Runs + 1, LastSeen: r.At}, r, receivers)
		case there:
			o.LastSeen = r.At
			next.Open = append(next.Open, o)
		case !r.Knows(o.Group()) || o.Told && r.At.Sub(o.LastSeen) < t.absence:
			next.Open = append(next.Open, o)
		case o.Told && !t.event:
			next.say(o, Over, r, receivers)
		}
	}
	for _, f := range r.Findings {
		if _, isNew := seen[key{f.Kind, f.Place}]; isNew && f.Begins {
			delete(seen, key{f.Kind, f.Place})
			next.keepOpen(open{ID: idOf(r, f), Finding: f, Runs: 1, LastSeen: r.At}, r, receivers)
		}
	}
	next.Outbox = next.Outbox[max(0, len(next.Outbox)-maxOutbox):]
	return next
}

// keepOpen adds a finding that was not reported yet, and reports it once it has lasted long enough.
func (s *state) keepOpen(o open, r Run, receivers []string) {
	if o.Told = o.Runs >= tempers[o.Group()].runs; o.Told {
		s.say(o, Begins, r, receivers)
	}
	s.Open = append(s.Open, o)
}

// say adds a message about a finding.
func (s *state) say(o open, what string, r Run, receivers []string) {
	if len(receivers) > 0 {
		s.Outbox = append(s.Outbox, Message{ID: o.ID, State: what, Finding: o.Finding, At: r.At,
			Generation: r.Generation, To: slices.Clone(receivers)})
	}
}

// idOf returns an ID that consists of the kind and a hash of the place and the start of a finding.
func idOf(r Run, f Finding) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{r.Account, f.Kind, f.Place,
		r.At.UTC().Format(time.RFC3339Nano)}, "\x00")))
	return f.Kind + "-" + hex.EncodeToString(sum[:6])
}

// drop takes receivers off the messages that they have accepted or are not to get any more, and removes the messages
// that wait for none.
func (s *state) drop(isDone func(m Message, receiver string) bool) {
	for i, m := range s.Outbox {
		s.Outbox[i].To = slices.DeleteFunc(slices.Clone(m.To), func(to string) bool { return isDone(m, to) })
	}
	s.Outbox = slices.DeleteFunc(s.Outbox, func(m Message) bool { return len(m.To) == 0 })
}
