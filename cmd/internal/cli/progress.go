package cli

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// Screen writes logs and progress to one place: bars only on a terminal, and the log lines of their time above them.
type Screen struct {
	Terminal bool

	out  io.Writer
	mu   sync.Mutex
	bars *mpb.Progress
}

// NewScreen is a screen that writes there.
func NewScreen(w io.Writer) *Screen { return &Screen{out: w, Terminal: IsTerminal(w)} }

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

func (s *Screen) setBars(bars *mpb.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bars = bars
}

// Bar shows how far a reading is: days, rows, rows a second, time left.
type Bar struct {
	screen  *Screen
	bars    *mpb.Progress
	bar     *mpb.Bar // nil: there is no terminal
	rows    atomic.Int64
	start   time.Time
	stepped atomic.Int64 // when the bar last moved, in nanoseconds since start
}

// Progress starts a bar for n entities of a kind; without a terminal it shows nothing.
func (s *Screen) Progress(kind string, n int) *Bar {
	b := &Bar{screen: s, start: time.Now()}
	if !s.Terminal || n == 0 {
		return b
	}
	b.bars = mpb.New(mpb.WithOutput(s.out), mpb.WithWidth(24), mpb.WithRefreshRate(120*time.Millisecond))
	s.setBars(b.bars)
	b.bar = b.bars.AddBar(int64(n), mpb.PrependDecorators(decor.CountersNoUnit(kind+" %d/%d")),
		mpb.AppendDecorators(decor.Any(b.pace)), mpb.BarRemoveOnComplete())
	return b
}

// pace returns the rows so far, and the time left at that pace or, if nothing came for a while, how long it has been.
func (b *Bar) pace(at decor.Statistics) (text string) {
	took := time.Since(b.start)
	if rows := b.rows.Load(); rows > 0 {
		text = fmt.Sprintf("%s rows, %s/s ", Grouped(rows), Grouped(int64(float64(rows)/max(took.Seconds(), 0.001))))
	}
	idle := took - time.Duration(b.stepped.Load())
	switch {
	case idle > 3*time.Second:
		text += fmt.Sprintf("waiting %v: the limit of requests, or slow replies", idle.Round(time.Second))
	case at.Current > 0:
		left := took * time.Duration(at.Total-at.Current) / time.Duration(at.Current)
		text += left.Round(time.Second).String() + " left"
	}
	return text
}

// Rows counts rows that were read.
func (b *Bar) Rows(n int) { b.rows.Add(int64(n)) }

// Step counts one more as done.
func (b *Bar) Step() {
	if b.bar != nil {
		b.stepped.Store(int64(time.Since(b.start)))
		b.bar.Increment()
	}
}

// Done removes the bar, however far it came.
func (b *Bar) Done() {
	if b.bar != nil {
		b.bar.Abort(true)
		b.bars.Wait()
		b.screen.setBars(nil)
	}
}
