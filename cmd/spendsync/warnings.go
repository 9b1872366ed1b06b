package main

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// warnings is a log that shows the first warning of each cause, and counts the others: before the end of an outage
// stands one line, not one for each request. Log level debug shows all.
type warnings struct {
	slog.Handler
	seen *seenWarnings
}

type seenWarnings struct {
	mu     sync.Mutex
	causes []string // in their order
	more   map[string]int
	log    map[string]slog.Handler
}

func newWarnings(h slog.Handler) warnings {
	return warnings{h, &seenWarnings{more: map[string]int{}, log: map[string]slog.Handler{}}}
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs), w.seen}
}

func (w warnings) WithGroup(name string) slog.Handler {
	return warnings{w.Handler.WithGroup(name), w.seen}
}

func (w warnings) Handle(ctx context.Context, r slog.Record) error {
	if r.Level != slog.LevelWarn || w.Enabled(ctx, slog.LevelDebug) {
		return w.Handler.Handle(ctx, r)
	}
	cause := r.Message
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "reason" {
			cause += ": " + a.Value.String()
		}
		return true
	})
	w.seen.mu.Lock()
	defer w.seen.mu.Unlock()
	if _, again := w.seen.log[cause]; again {
		w.seen.more[cause]++
		return nil
	}
	w.seen.causes, w.seen.log[cause] = append(w.seen.causes, cause), w.Handler
	return w.Handler.Handle(ctx, r)
}

// tell reports how often each warning came again.
func (s *seenWarnings) tell(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cause := range s.causes {
		if n := s.more[cause]; n > 0 {
			r := slog.NewRecord(now, slog.LevelWarn, cause, 0)
			r.AddAttrs(slog.Int("more_times", n))
			_ = s.log[cause].Handle(context.Background(), r) // nothing can be said of a log that fails
		}
	}
	clear(s.more)
}
