package advertiser

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"spendsync/extract/adsim/wire"
)

// problem is why a request of the advertiser API is refused.
type problem struct {
	status  int
	field   string // empty: the request as a whole
	message string
	wait    int // seconds; 0: not known
}

// detail names a field and its error.
type detail struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

func (p *problem) Error() string { return p.message }

func invalid(field, format string, args ...any) *problem {
	return &problem{status: http.StatusBadRequest, field: field, message: fmt.Sprintf(format, args...)}
}

func conflict(format string, args ...any) *problem {
	return &problem{status: http.StatusConflict, message: fmt.Sprintf(format, args...)}
}

func noSuch(what string) *problem {
	return &problem{status: http.StatusNotFound, message: "There is no such " + what + " in this account."}
}

// refuse returns the reply for a problem.
func (s *API) refuse(err error) wire.Reply {
	p, is := errors.AsType[*problem](err)
	if !is {
		return s.APIError(http.StatusInternalServerError, err.Error())
	}
	var details []detail
	if p.field != "" {
		details = []detail{{p.field, p.message}}
	}
	rep := s.APIError(p.status, p.message, details...)
	if p.wait > 0 {
		rep.Header.Set("Retry-After", strconv.Itoa(p.wait))
	}
	return rep
}
