package advertiser

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"spendsync/extract/adsim/wire"
)

// problem is an error reply of the advertiser API.
type problem struct {
	status  int
	field   string // the offending field or parameter, or empty if the error concerns no single one
	message string
	wait    int // seconds for the header Retry-After; 0 omits the header
}

// detail is the error of one field.
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

// refuse returns the error reply for err. If err is not a *problem, the status of the reply is 500.
func (s *API) refuse(err error) wire.Reply {
	p, isProblem := errors.AsType[*problem](err)
	if !isProblem {
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
