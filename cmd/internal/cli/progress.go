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

// Screen writes logs and progress to one stream. It shows bars only on a terminal, and log lines above them.
type Screen struct {
	Terminal bool

	out  io.Writer
	mu   sync.Mutex
	bars *mpb.Progress
}

// NewScreen returns a screen that writes to w.
func NewScreen(w io.Writer) *Screen { return &Screen{out: w, Terminal: IsTerminal(w)} }

func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bars != nil {
		if n, err := s.bars.Write(p); err == nil { // an error means that the bars have just ended; then use out
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

// Bar shows the progress of reading: steps, rows, rows per second, time left.
type Bar struct {
	screen     *Screen
	left       string // text after "33 of 33" in the line that replaces the bar; if empty, no line replaces it
	bars       *mpb.Progress
	bar        *mpb.Bar // nil if the output is not a terminal
	waitsUntil func() time.Time
	n          int
	rows       atomic.Int64
	start      time.Time
	steps      atomic.Int64
	stepped    atomic.Int64 // when the bar last moved, in nanoseconds since start
	waited     atomic.Int64 // when the bar last waited for the request limit, in nanoseconds since start
}

// Progress starts a bar that counts to n; kind names what it counts, for example days. If the output is not a terminal,
// nothing is shown. When the bar is done, a line such as "33 of 33 days read" replaces it. The second argument is the
// last word of the line. If it is empty, there is no line. The function waitsUntil, which may be nil, gives the time at
// which the present wait for the request limit ends, or the zero time if that is not known.
func (s *Screen) Progress(kind, done string, n int, waitsUntil func() time.Time) *Bar {
	b := &Bar{screen: s, n: n, start: time.Now(), waitsUntil: waitsUntil}
	if done != "" {
		b.left = kind + " " + done
	}
	if !s.Terminal || n == 0 {
		return b
	}
	b.bars = mpb.New(mpb.WithOutput(s.out), mpb.WithWidth(24), mpb.WithRefreshRate(120*time.Millisecond))
	s.setBars(b.bars)
	b.bar = b.bars.AddBar(int64(n), mpb.PrependDecorators(decor.CountersNoUnit(kind+" %d/%d")),
		mpb.AppendDecorators(decor.Any(func(at decor.Statistics) string {
			wait := time.Duration(0)
			if waitsUntil != nil {
				wait = time.Until(waitsUntil())
			}
			return b.pace(time.Since(b.start), wait, at.Current, at.Total)
		})), mpb.BarRemoveOnComplete())
	return b
}

// paceAfter is the time after which the bar shows the time left. Before that time, the pace would be misleading: the
// service answers the first requests faster than later requests, which have to wait for the limit.
const paceAfter = 3 * time.Second

// pace describes the progress of the bar; took is the time since the bar's start. The text has the rows so far and one
// duration. The duration is the rest of a wait whose end is known. Otherwise, after three seconds without a step or a
// wait, it is the time since then. Otherwise it is the remaining time at the pace so far.
func (b *Bar) pace(took, wait time.Duration, current, total int64) (text string) {
	if rows := b.rows.Load(); rows > 0 {
		text = fmt.Sprintf("%s rows, %s/s ", Grouped(rows), Grouped(int64(float64(rows)/max(took.Seconds(), 0.001))))
	}
	stepped := time.Duration(b.stepped.Load())
	if wait > 0 {
		b.waited.Store(int64(took))
	}
	idle := took - max(stepped, time.Duration(b.waited.Load()))
	switch {
	case wait > time.Second:
		text += fmt.Sprintf("limit of requests: goes on in %v", wait.Round(time.Second))
	case idle > 3*time.Second:
		text += fmt.Sprintf("waiting %v for replies", idle.Round(time.Second))
	case current > 0 && took >= paceAfter:
		// Estimate the time left at the last step, and subtract the time since then, so that the estimate shrinks
		// between two steps.
		left := max(time.Second, stepped*time.Duration(total-current)/time.Duration(current)-idle)
		text += left.Round(time.Second).String() + " left"
	}
	return text
}

// Rows adds n rows to the number that the bar shows.
func (b *Bar) Rows(n int) { b.rows.Add(int64(n)) }

// Step counts one more entity as read.
func (b *Bar) Step() {
	if b.bar != nil {
		b.steps.Add(1)
		b.stepped.Store(int64(time.Since(b.start)))
		b.bar.Increment()
	}
}

// Done removes the bar, even if it is not complete, and writes the line that replaces the bar.
func (b *Bar) Done() {
	if b.bar == nil {
		return
	}
	b.bar.Abort(true)
	b.bars.Wait()
	b.screen.setBars(nil)
	if b.left != "" {
		fmt.Fprintf(b.screen, "%d of %d %s\n", b.steps.Load(), b.n, b.left)
	}
}
