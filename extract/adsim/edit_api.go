package adsim

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
)

// edit is an editor of the world as the API's writes use it.
type edit struct{ *editor }

// edit makes a write, and moves the call's state to where it has happened.
func (s *api) edit(c *call, w write, do func(e edit) *problem) *problem {
	w.line = journalLine{Op: c.op.name, Path: c.path, Query: c.query}
	if len(bytes.TrimSpace(c.raw)) > 0 {
		w.line.Body = c.raw
	}
	st, err := s.world.edit(w, func(e *editor) error {
		if p := do(edit{e}); p != nil {
			return p
		}
		return nil
	})
	if err != nil {
		return problemOf(err)
	}
	*c.st = st
	return nil
}

// redo makes a write of the journal again.
func (s *api) redo(line *journalLine) error {
	st := s.world.snapshot()
	c := &call{st: &st, key: &apiKey{Key: Key{Scope: scopeWrite}}, query: line.Query, path: line.Path, raw: line.Body}
	for _, op := range s.operations {
		if op.name == line.Op {
			c.op = op
		}
	}
	if c.op == nil {
		return errors.New("there is no such thing to do")
	}
	if p := c.takeBody(); p != nil {
		return errors.New(p.message)
	}
	if rep := c.op.answer(s, c); rep.status >= http.StatusMultipleChoices {
		return fmt.Errorf("it is refused now: %s", rep.body)
	}
	return nil
}
