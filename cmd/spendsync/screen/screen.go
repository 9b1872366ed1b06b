// Package screen shows on a terminal how far a run is.
package screen

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"spendsync/cmd/internal/output"
	"spendsync/cmd/spendsync/job"
	"spendsync/cmd/spendsync/phrase"
)

// Screen writes logs and progress to one place: bars only on a terminal, and the log lines of their time above them.
type Screen struct {
	out      io.Writer
	Terminal bool

	mu   sync.Mutex
	bars *mpb.Progress
}

// New is a screen that writes there.
func New(w io.Writer) *Screen {
	return &Screen{out: w, Terminal: output.IsTerminal(w)}
}

func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bars != nil {
		if n, err := s.bars.Write(p); err == nil { // otherwise they have just ended
			return n, nil
		}
	}
	return s.out.Write(p)
}

// progress shows how far the reading is: days, rows, rows a second, time left.
type progress struct {
	screen  *Screen
	bar     *mpb.Bar
	bars    *mpb.Progress
	n       atomic.Int64
	start   time.Time
	stepped atomic.Int64 // when the bar last moved, in nanoseconds since start
}

// Progress starts a bar for n entities of a kind; without a terminal it shows nothing.
func (s *Screen) Progress(kind string, n int) job.Bar {
	p := &progress{screen: s, start: time.Now()}
	if !s.Terminal || n == 0 {
		return p
	}
	p.bars = mpb.New(mpb.WithOutput(s.out), mpb.WithWidth(24), mpb.WithRefreshRate(120*time.Millisecond))
	p.bar = p.bars.AddBar(int64(n),
		mpb.PrependDecorators(decor.CountersNoUnit(kind+" %d/%d")),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
			rows := p.n.Load()
			if rows == 0 {
				return ""
			}
			rate := float64(rows) / max(time.Since(p.start).Seconds(), 0.001)
			return fmt.Sprintf("%s rows, %s/s ", phrase.Grouped(rows), phrase.Grouped(int64(rate)))
		}), decor.Any(func(st decor.Statistics) string { return p.left(st.Current, st.Total) })),
		mpb.BarRemoveOnComplete(),
	)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bars = p.bars
	return p
}

// left returns the time left at the pace so far or, if nothing came for a while, how long it has been.
func (p *progress) left(done, of int64) string {
	idle := time.Since(p.start) - time.Duration(p.stepped.Load())
	switch {
	case idle > 3*time.Second:
		return fmt.Sprintf("waiting %v: the limit of requests, or slow replies", idle.Round(time.Second))
	case done == 0:
		return ""
	}
	return (time.Since(p.start) * time.Duration(of-done) / time.Duration(done)).Round(time.Second).String() + " left"
}

// Rows counts rows that were read.
func (p *progress) Rows(n int) { p.n.Add(int64(n)) }

// Step counts one more as done.
func (p *progress) Step() {
	if p.bar != nil {
		p.stepped.Store(int64(time.Since(p.start)))
		p.bar.Increment()
	}
}

// Done removes the bar, however far it came.
func (p *progress) Done() {
	if p.bar == nil {
		return
	}
	p.bar.Abort(true)
	p.bars.Wait()
	p.screen.mu.Lock()
	defer p.screen.mu.Unlock()
	p.screen.bars = nil
}
