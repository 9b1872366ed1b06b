package notice

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// Finding is something wrong that somebody should hear of, as one run sees it.
type Finding struct {
	Kind     string // the part before "_" is the kind of SPENDSYNC_NOTIFY
	Place    string // what it is about, among those of its kind
	Since    string // Chicago day since which it is so; "": not known
	Begins   bool   // false: it only keeps a finding going that was told of
	Happened string // a sentence without its end
	Do       string
}

// Group returns the kind of SPENDSYNC_NOTIFY that the finding belongs to.
func (f Finding) Group() string { return group(f.Kind) }

// group is the kind of SPENDSYNC_NOTIFY that a kind belongs to.
func group(kind string) string {
	name, _, _ := strings.Cut(kind, "_")
	return name
}

// temper is how a kind begins and ends.
type temper struct {
	runs    int           // findings in a row before it is told of
	absence time.Duration // how long it must be away before its end is told
	event   bool          // it has no end
}

// tempers are those of the groups that do not begin and end at once. Hourly numbers waver around
// their lines; one failed run is made up by the next.
var tempers = map[string]temper{
	"failed":   {runs: 2},
	"break":    {absence: 48 * time.Hour},
	"leak":     {absence: 48 * time.Hour},
	"loses":    {absence: 48 * time.Hour},
	"block":    {absence: 48 * time.Hour},
	"settings": {event: true},
}

// state is what is known of the notices of one account. It is kept in the store.
type state struct {
	Format     int       `json:"format"`
	Generation int64     `json:"generation"` // of the last run that had part in it
	Open       []open    `json:"open"`
	Outbox     []Message `json:"outbox"`
}

// open is a finding that has begun and not ended.
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

// Message reports the begin or the end of a finding. It has the ID of the finding, and keeps it however often
// it is sent.
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

// maxOutbox limits what waits for a receiver that is away. The oldest are dropped.
const maxOutbox = 500

// Run is what one run knows.
type Run struct {
	Account    string
	At         time.Time
	Generation int64
	Findings   []Finding
	// Knows reports whether the run could look for findings of a group. What it could not look for
	// neither begins nor ends.
	Knows func(group string) bool
}

// update returns the state after a run, and whether anything has changed. It adds a message for each
// receiver when a finding begins and when it ends.
func (s state) update(r Run, receivers []string) (next state, changed bool) {
	next = state{Format: 1, Generation: r.Generation, Outbox: slices.Clone(s.Outbox)}
	say := func(o open, what string) {
		if len(receivers) > 0 {
			next.Outbox = append(next.Outbox, Message{ID: o.ID, State: what, Kind: o.Kind, Place: o.Place,
				Since: o.Since, At: r.At, Generation: r.Generation, Happened: o.Happened, Do: o.Do,
				To: slices.Clone(receivers)})
		}
		changed = true
	}
	key := func(kind, place string) string { return kind + "\x00" + place }
	seen := map[string]Finding{}
	for _, f := range r.Findings {
		seen[key(f.Kind, f.Place)] = f
	}
	for _, o := range s.Open {
		f, there := seen[key(o.Kind, o.Place)]
		delete(seen, key(o.Kind, o.Place))
		t := tempers[group(o.Kind)]
		switch {
		case there && !o.Told && !f.Begins:
			changed = true // it went before it was told of
		case there:
			o.LastSeen = r.At
			if !o.Told {
				o.Runs++
				o.Happened, o.Do = f.Happened, f.Do
				changed = true
			}
			if !o.Told && o.Runs >= t.runs {
				o.Told = true
				say(o, Begins)
			}
			next.Open = append(next.Open, o)
		case !r.Knows(group(o.Kind)) || o.Told && r.At.Sub(o.LastSeen) < t.absence:
			next.Open = append(next.Open, o)
		default:
			if changed = true; o.Told && !t.event {
				say(o, Over)
			}
		}
	}
	for _, f := range r.Findings {
		if _, anew := seen[key(f.Kind, f.Place)]; !anew || !f.Begins {
			continue
		}
		delete(seen, key(f.Kind, f.Place))
		changed = true
		o := open{ID: idOf(r, f), Kind: f.Kind, Place: f.Place, Since: f.Since, Runs: 1, LastSeen: r.At,
			Happened: f.Happened, Do: f.Do}
		if o.Runs >= tempers[group(f.Kind)].runs {
			o.Told = true
			say(o, Begins)
		}
		next.Open = append(next.Open, o)
	}
	if n := len(next.Outbox) - maxOutbox; n > 0 {
		next.Outbox = next.Outbox[n:]
	}
	// When a told finding was last seen decides when its end is told.
	return next, changed || slices.ContainsFunc(next.Open, func(o open) bool { return o.LastSeen.Equal(r.At) })
}

// idOf names a finding by its kind and by a hash of what it is about and when it began.
func idOf(r Run, f Finding) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{r.Account, f.Kind, f.Place,
		r.At.UTC().Format(time.RFC3339Nano)}, "\x00")))
	return f.Kind + "-" + hex.EncodeToString(sum[:6])
}

// settle removes a receiver from the messages that it has accepted, and the messages that no receiver
// is left to be told.
func (s *state) settle(receiver string, ids map[string]bool) {
	for i, m := range s.Outbox {
		if ids[m.ID+m.State] {
			s.Outbox[i].To = slices.DeleteFunc(slices.Clone(m.To), func(to string) bool { return to == receiver })
		}
	}
	s.Outbox = slices.DeleteFunc(s.Outbox, func(m Message) bool { return len(m.To) == 0 })
}

// keep removes receivers that are configured no more, and what waits for them.
func (s *state) keep(receivers []string) {
	for i, m := range s.Outbox {
		s.Outbox[i].To = slices.DeleteFunc(slices.Clone(m.To), func(to string) bool {
			return !slices.Contains(receivers, to)
		})
	}
	s.Outbox = slices.DeleteFunc(s.Outbox, func(m Message) bool { return len(m.To) == 0 })
}
