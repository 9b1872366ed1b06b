package advertiser

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"spendsync/extract/adsim/wire"
	"spendsync/extract/adsim/world"
)

// problem is why a request of the advertiser API is refused.
type problem struct {
	status  int
	code    string
	message string
	details []detail
	wait    int // seconds; 0: not known
}

// detail names a field and its error.
type detail struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

func invalidField(field, format string, args ...any) *problem {
	return invalidFields([]detail{{field, fmt.Sprintf(format, args...)}})
}

func invalidFields(found []detail) *problem {
	first := found[0]
	message := "Invalid " + first.Field + ": " + first.Message + "."
	if first.Field == "" {
		message = "Invalid request: " + first.Message + "."
	}
	return &problem{status: http.StatusBadRequest, code: "validation_failed", message: message, details: found}
}

func conflict(format string, args ...any) *problem {
	return &problem{status: http.StatusConflict, code: "conflict", message: fmt.Sprintf(format, args...)}
}

func noSuch(what string) *problem {
	return &problem{status: http.StatusNotFound, code: "not_found", message: "There is no such " + what +
		" in this account."}
}

func tooMany(wait int, format string, args ...any) *problem {
	return &problem{status: http.StatusTooManyRequests, code: "rate_limited", message: fmt.Sprintf(format, args...),
		wait: wait}
}

// Error makes a problem an error that an edit returns.
func (p *problem) Error() string {
	if len(p.details) > 0 {
		return strings.TrimPrefix(p.details[0].Field+": "+p.details[0].Message, ": ")
	}
	return p.message
}

// problemOf returns the problem of an error that an edit has returned.
func problemOf(err error) *problem {
	var p *problem
	var l *world.Limited
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &l):
		return tooMany(l.Wait, "%s", l.Message)
	}
	return &problem{status: http.StatusInternalServerError, code: "internal_error", message: err.Error()}
}

// Refuse returns the reply for a problem.
func (s *API) Refuse(p *problem) wire.Reply {
	rep := s.APIError(p.status, p.code, p.message, p.details)
	if p.wait > 0 {
		rep.Header.Set("Retry-After", strconv.Itoa(p.wait))
	}
	return rep
}

// edit is an editor of the world as the API's writes use it.
type edit struct {
	*world.Editor
	force bool // do what the service refuses
}

// edit makes a write, and moves the call's state to where it has happened.
func (s *API) edit(c *Call, do func(e edit) *problem) *problem {
	st, err := s.World.Edit(world.Write{Free: c.pauses(), Trial: c.args.flag("dry_run")}, func(e *world.Editor) error {
		if p := do(edit{Editor: e}); p != nil {
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

// write makes a write and answers with reply, or with its refusal.
func (s *API) write(c *Call, do func(e edit) *problem, reply func() wire.Reply) wire.Reply {
	if p := s.edit(c, do); p != nil {
		return s.Refuse(p)
	}
	return reply()
}
