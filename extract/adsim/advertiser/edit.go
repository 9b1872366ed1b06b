package advertiser

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/world"
)

// edit is an editor of the world as the API's writes use it.
type edit struct{ *world.Editor }

// edit makes a write, and moves the call's state to where it has happened.
func (s *API) edit(c *Call, w world.Write, do func(e edit) *problem) *problem {
	w.Line = world.Entry{Op: c.Op.Name, Path: c.path, Query: c.Query}
	if len(bytes.TrimSpace(c.raw)) > 0 {
		w.Line.Body = c.raw
	}
	st, err := s.World.Edit(w, func(e *world.Editor) error {
		if p := do(edit{e}); p != nil {
			return p
		}
		return nil
	})
	if err != nil {
		return problemOf(err)
	}
	*c.St = st
	return nil
}

// Redo makes a write of the journal again.
func (s *API) Redo(line *world.Entry) error {
	st := s.World.Snapshot()
	c := &Call{
		St:    &st,
		Key:   &APIKey{Key: config.Key{Scope: ScopeWrite}},
		Query: line.Query,
		path:  line.Path,
		raw:   line.Body,
	}
	for _, op := range s.Operations {
		if op.Name == line.Op {
			c.Op = op
		}
	}
	if c.Op == nil {
		return errors.New("there is no such thing to do")
	}
	if p := c.takeBody(); p != nil {
		return errors.New(p.message)
	}
	if rep := c.Op.answer(s, c); rep.Status >= http.StatusMultipleChoices {
		return fmt.Errorf("it is refused now: %s", rep.Body)
	}
	return nil
}
