package notice

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"spendsync/cmd/internal/config"
	"spendsync/load/durable"
	"spendsync/schema/schematest"
)

// mortal simulates a process that is killed. Its calls on files and receivers take effect until it dies at a given
// call. That last call may or may not take effect.
type mortal struct {
	durable.System
	mu     sync.Mutex
	calls  int // calls left until the process dies; below 0: it never dies
	effect bool
	dead   bool
}

var errDead = errors.New("the process is dead")

// lives counts a call. It reports whether the call takes effect, and whether the call returns.
func (m *mortal) lives() (acts, returns bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return false, false
	}
	if m.calls == 0 {
		m.dead = true
		return m.effect, false
	}
	m.calls--
	return true, true
}

// do makes a call, unless the process is dead.
func (m *mortal) do(call func() error) error {
	acts, returns := m.lives()
	var err error
	if acts {
		err = call()
	}
	if !returns {
		return errDead
	}
	return err
}

func (m *mortal) OpenFile(path string, flag int, perm fs.FileMode) (f durable.File, err error) {
	if err := m.do(func() error { f, err = m.System.OpenFile(path, flag, perm); return err }); err != nil {
		if f != nil {
			f.Close()
		}
		return nil, err
	}
	return &mortalFile{f, m}, nil
}

func (m *mortal) Mkdir(path string) error { return m.do(func() error { return m.System.Mkdir(path) }) }
func (m *mortal) Rename(from, to string) error {
	return m.do(func() error { return m.System.Rename(from, to) })
}

type mortalFile struct {
	durable.File
	m *mortal
}

// Write writes the text, or only its first half if the process dies during the call.
func (f *mortalFile) Write(p []byte) (n int, err error) {
	acts, returns := f.m.lives()
	switch {
	case returns:
		return f.File.Write(p)
	case acts:
		_, _ = f.File.Write(p[:len(p)/2])
	}
	return 0, errDead
}

// Sync has no effect here, because written data survives the death of the process. The tests of load/durable cover the
// loss of power.
func (f *mortalFile) Sync() error { return f.m.do(func() error { return nil }) }

// inbox is a receiver that keeps the messages that it accepts. Sometimes it fails, either before or after it has
// accepted the messages.
type inbox struct {
	got []Message
}

// account makes findings of an account that start and end at random.
type account struct {
	r   *rand.Rand
	now time.Time
	set map[string]Finding
}

// step advances by an hour, in which some findings start and others end.
func (a *account) step() Run {
	a.now = a.now.Add(time.Hour)
	kinds := []string{"day_at_risk", "runway", "loses", "failed", "settings"}
	for range a.r.IntN(3) {
		f := Finding{Kind: kinds[a.r.IntN(len(kinds))], Place: strconv.Itoa(a.r.IntN(4)), Begins: true,
			Happened: "something", Do: "do something"}
		if key := f.Kind + f.Place; a.set[key].Kind == "" {
			a.set[key] = f
		} else {
			delete(a.set, key)
		}
	}
	run := Run{At: a.now, Generation: a.now.Unix(), Knows: func(string) bool { return true }}
	for _, f := range a.set {
		run.Findings = append(run.Findings, f)
	}
	return run
}

// TestTell_SurvivesKills kills runs at random calls on files and receivers. In the end, each receiver has every message
// that was ever in the stored state, in order, and each message has one ID. For each finding, the messages about its
// start and its end alternate.
func TestTell_SurvivesKills(t *testing.T) {
	kills, seed := schematest.Times(100, 200, 1000), schematest.Seed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	dir := t.TempDir()
	a := &account{r: r, now: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), set: map[string]Finding{}}
	names := []string{"1 slack", "2 json"}
	boxes := map[string]*inbox{"1 slack": {}, "2 json": {}}
	decided := map[string]bool{} // messages that were ever in the state
	killed, finished, doubled := 0, 0, 0
	tell := func(m *mortal, run Run, fails bool) error {
		var mu sync.Mutex
		teller := &Teller{Disk: durable.Disk{FS: m}, Dir: dir, Account: "acme", Receivers: []config.Receiver{
			{Name: names[0], Form: "slack"}, {Name: names[1], Form: "json"}},
			Post: func(_ context.Context, to config.Receiver, _ string, all []Message) error {
				mu.Lock()
				defer mu.Unlock()
				before, after := fails && r.IntN(4) == 0, fails && r.IntN(8) == 0
				return m.do(func() error {
					if before {
						return errors.New("status 503")
					}
					boxes[to.Name].got = append(boxes[to.Name].got, slices.Clone(all)...)
					if after {
						return errors.New("it accepted, and the connection broke")
					}
					return nil
				})
			}}
		return teller.Tell(t.Context(), run)
	}
	note := func() {
		var s state
		if err := Read(durable.OS, dir, "account=acme.json", &s); err != nil {
			t.Fatal(err)
		}
		for _, m := range slices.Concat(s.Waiting[names[0]], s.Waiting[names[1]]) {
			decided[m.ID+m.State] = true
		}
		for _, o := range s.Open {
			if o.Told {
				decided[o.ID+Begins] = true
			}
		}
	}
	for killed < kills {
		m := &mortal{calls: r.IntN(24), effect: r.IntN(2) == 0}
		_ = tell(m, a.step(), true)
		if m.dead {
			killed++
		} else {
			finished++
		}
		note()
	}
	// No more findings occur until all ends have been reported, and the receivers no longer fail.
	for range 5 {
		a.now = a.now.Add(72 * time.Hour)
		run := Run{At: a.now, Knows: func(string) bool { return true }}
		for _, f := range a.set {
			run.Findings = append(run.Findings, f)
		}
		if err := tell(&mortal{calls: -1}, run, false); err != nil {
			t.Fatal(err)
		}
		note()
	}
	for name, box := range boxes {
		seen, last := map[string]bool{}, map[string]Message{}
		for _, m := range box.got {
			if seen[m.ID+m.State] {
				doubled++
				continue
			}
			seen[m.ID+m.State] = true
			key := m.Kind + " " + m.Place
			before := last[key]
			event := tempers[m.Group()].event
			if m.State == Begins && before.State == Begins && !event {
				t.Fatalf("%s: %s is told twice, as %s and as %s", name, key, before.ID, m.ID)
			}
			if m.State == Over && (before.State != Begins || before.ID != m.ID) {
				t.Fatalf("%s: the end of %s comes after %+v", name, m.ID, before)
			}
			last[key] = m
		}
		for id := range decided {
			if !seen[id] {
				t.Errorf("%s was never told %s", name, id)
			}
		}
		for key, f := range a.set {
			if m := last[f.Kind+" "+f.Place]; m.State != Begins {
				t.Errorf("%s: %s is so, and last told: %q", name, key, m.State)
			}
		}
		for key, m := range last {
			_, there := a.set[m.Kind+m.Place]
			if !there && m.State == Begins && !tempers[m.Group()].event {
				t.Errorf("%s: the end of %s is not told", name, key)
			}
		}
	}
	t.Logf("%d runs killed, %d finished; %d messages, sent again under their ID %d times", killed, finished,
		len(decided), doubled)
	if len(decided) < kills/10 || kills >= 100 && doubled == 0 {
		t.Error("too little was told, or nothing was ever sent again: this test does not reach the kills in between")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, Folder, "*")); len(left) > 3 {
		t.Errorf("files are left: %v", left)
	}
}

// TestUpdate_Tempers: each kind of finding is reported and ends after the time that its temper demands.
func TestUpdate_Tempers(t *testing.T) {
	start, one := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), []config.Receiver{{Name: "1 json"}}
	for name, c := range map[string]struct {
		kind  string
		hours string // one letter per hour: x present, o present but only keeps an open finding, . absent, ? not known
		want  string // one letter per hour: B the start is reported, E the end
	}{
		"a day at once":                  {"day_at_risk", ".xx..", ".B.E."},
		"a failed run is made up":        {"failed", ".x.x.", "....."},
		"two failed runs":                {"failed", ".xxx.", "..B.E"},
		"what only keeps does not begin": {"runway", "ooxoo.", "..B..E"},
		"it went before it was told":     {"failed", "xo.x", "...."},
		"unknown changes nothing":        {"day_lost", "x??.", "B..E"},
		"a waverer":                      {"loses", "x.x.x.", "B....."},
		"an event has no end":            {"settings", "x...", "B..."},
	} {
		s, got := state{}, ""
		for i, letter := range c.hours {
			r := Run{At: start.Add(time.Duration(i) * time.Hour), Knows: func(string) bool { return letter != '?' }}
			if letter == 'x' || letter == 'o' {
				r.Findings = []Finding{{Kind: c.kind, Begins: letter == 'x', Happened: "h", Do: "d"}}
			}
			s = s.update(r, one)
			said := "."
			for _, m := range s.Waiting["1 json"] {
				said = map[string]string{Begins: "B", Over: "E"}[m.State]
			}
			s.Waiting = nil
			got += said
		}
		if got != c.want {
			t.Errorf("%s: %s, told %s, want %s", name, c.hours, got, c.want)
		}
	}
	// A statistical finding ends after two days of absence.
	s := state{}.update(Run{At: start, Findings: []Finding{{Kind: "loses", Begins: true}},
		Knows: func(string) bool { return true }}, one)
	s = s.update(Run{At: start.Add(48 * time.Hour), Knows: func(string) bool { return true }}, one)
	if got := s.Waiting["1 json"]; len(got) != 2 || got[1].State != Over || got[1].ID != got[0].ID || len(s.Open) != 0 {
		t.Errorf("%+v", s)
	}
}

// TestTell_OneAtATime: while a run sends messages for an account, a second run of the account sends none.
func TestTell_OneAtATime(t *testing.T) {
	dir, posted := t.TempDir(), 0
	teller := func(post func() error) *Teller {
		return &Teller{Disk: durable.OS, Dir: dir, Account: "acme", Receivers: []config.Receiver{{Name: "1 json"}},
			Post: func(context.Context, config.Receiver, string, []Message) error { posted++; return post() }}
	}
	run := Run{At: time.Now(), Findings: []Finding{{Kind: "runway", Begins: true}},
		Knows: func(string) bool { return true }}
	err := teller(func() error {
		return teller(func() error { return fmt.Errorf("sent by the second") }).Tell(t.Context(), run)
	}).Tell(t.Context(), run)
	if err != nil || posted != 1 {
		t.Errorf("%v, posted %d times", err, posted)
	}
	// If the stored state is damaged, the error says so, and every finding is reported again.
	if err := os.WriteFile(filepath.Join(dir, Folder, "account=acme.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := teller(func() error { return nil }).Tell(t.Context(), run); err == nil || posted != 2 {
		t.Errorf("%v, posted %d times", err, posted)
	}
}
