package lake

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"spendsync/load/lake/resttest"
)

// chaos disturbs a world until it is quiet: steps end in deaths, commits conflict, answers are lost.
type chaos struct {
	*world
	*rand.Rand
	sync.Mutex
	quiet  bool
	deaths int
}

func newChaos(t *testing.T, w *world) *chaos {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	c := &chaos{world: w, Rand: rand.New(rand.NewPCG(seed, 1))}
	w.rest.Before = func([]string) error {
		if !c.quiet && c.chance(15) {
			return resttest.ErrConflict
		}
		return nil
	}
	w.rest.After = func([]string) error {
		if !c.quiet && c.chance(15) {
			return errors.New("lost")
		}
		return nil
	}
	return c
}

func (c *chaos) chance(percent int) bool {
	c.Lock()
	defer c.Unlock()
	return c.IntN(100) < percent
}

// try does something that may die at each of its steps.
func (c *chaos) try(percent int, do func(*Lake) error) {
	c.Helper()
	l := c.open()
	l.die = func(string) error {
		if !c.quiet && c.chance(percent) {
			return errDied
		}
		return nil
	}
	if err := do(l); errors.Is(err, errDied) {
		c.deaths++
	} else if err != nil {
		c.Fatal(err)
	}
}
