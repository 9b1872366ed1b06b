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
	Kind     string // the part before "_" is the kind of SPENDSYNC_NOTIFY
	Place    string // the campaign, source or the like that it concerns
	Since    string // first Chicago day of the problem; "": not known
	Begins   bool   // false: it only keeps a reported finding open
	Happened string // a sentence without the final period
	Do       string
}

// Group returns the kind of SPENDSYNC_NOTIFY that the finding belongs to.
func (f Finding) Group() string { return group(f.Kind) }

// group is the kind of SPENDSYNC_NOTIFY that a kind belongs to.
func group(kind string) string {
	name, _, _ := strings.Cut(kind, "_")
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

// open is a finding that has started and has not ended.
type open struct {
	ID       string    `json:"id"`
	Kind     string    `json:"kind"`
	Place    string    `json:"place"`
	Since    string    `json:"since,omitempty"`
	Runs     int       `json:"runs"`
	Told     bool      `json:"told"`
	LastSeen time.Time `json:"last_seen"`
	Happened string    `json:"happened"`
	Do       string    `json:"do"`
}

// Message reports the start or the end of a finding. It has the ID of the finding, however often it is sent.
type Message struct {
	ID         string    `json:"id"`
	State      string    `json:"state"` // begins, over
	Kind       string    `json:"kind"`
	Place      string    `json:"place"`
	Since      string    `json:"since,omitempty"`
	At         time.Time `json:"at"`
	Generation int64     `json:"generation"`
	Happened   string    `json:"happened"`
	Do         string    `json:"do"`
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
		t := tempers[group(o.Kind)]
		switch {
		case there && !o.Told && !f.Begins: // it ended before it was reported
		case there:
			next.keepOpen(o.seenAgain(f, r.At), r, receivers)
		case !r.Knows(group(o.Kind)) || o.Told && r.At.Sub(o.LastSeen) < t.absence:
			next.Open = append(next.Open, o)
		case o.Told && !t.event:
			next.say(o, Over, r, receivers)
		}
	}
	for _, f := range r.Findings {
		if _, isNew := seen[key{f.Kind, f.Place}]; isNew && f.Begins {
			delete(seen, key{f.Kind, f.Place})
			next.keepOpen(open{ID: idOf(r, f), Kind: f.Kind, Place: f.Place, Since: f.Since, Runs: 1, LastSeen: r.At,
				Happened: f.Happened, Do: f.Do}, r, receivers)
		}
	}
	if n := len(next.Outbox) - maxOutbox; n > 0 {
		next.Outbox = next.Outbox[n:]
	}
	return next
}

// keepOpen adds a finding that a run has seen, and reports it once it has lasted long enough.
func (s *state) keepOpen(o open, r Run, receivers []string) {
	if !o.Told && o.Runs >= tempers[group(o.Kind)].runs {
		o.Told = true
		s.say(o, Begins, r, receivers)
	}
	s.Open = append(s.Open, o)
}

// say adds a message about a finding.
func (s *state) say(o open, what string, r Run, receivers []string) {
	if len(receivers) > 0 {
		s.Outbox = append(s.Outbox, Message{ID: o.ID, State: what, Kind: o.Kind, Place: o.Place, Since: o.Since,
			At: r.At, Generation: r.Generation, Happened: o.Happened, Do: o.Do, To: slices.Clone(receivers)})
	}
}

// seenAgain returns an open finding that another run has seen, in its words until it is reported.
func (o open) seenAgain(f Finding, at time.Time) open {
	if o.LastSeen = at; !o.Told {
		o.Runs++
		o.Happened, o.Do = f.Happened, f.Do
	}
	return o
}

// idOf returns an ID that consists of the kind and a hash of the place and the start of a finding.
func idOf(r Run, f Finding) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{r.Account, f.Kind, f.Place,
		r.At.UTC().Format(time.RFC3339Nano)}, "\x00")))
	return f.Kind + "-" + hex.EncodeToString(sum[:6])
}

// settle removes a receiver from the messages that it has accepted, and removes messages that every receiver has
// accepted.
func (s *state) settle(receiver string, ids map[string]bool) {
	for i, m := range s.Outbox {
		if ids[m.ID+m.State] {
			s.Outbox[i].To = slices.DeleteFunc(slices.Clone(m.To), func(to string) bool { return to == receiver })
		}
	}
	s.Outbox = slices.DeleteFunc(s.Outbox, func(m Message) bool { return len(m.To) == 0 })
}

// keep removes receivers that are no longer configured, and the messages that wait only for them.
func (s *state) keep(receivers []string) {
	for i, m := range s.Outbox {
		s.Outbox[i].To = slices.DeleteFunc(slices.Clone(m.To), func(to string) bool {
			return !slices.Contains(receivers, to)
		})
	}
	s.Outbox = slices.DeleteFunc(s.Outbox, func(m Message) bool { return len(m.To) == 0 })
}
