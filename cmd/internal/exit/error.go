package exit

import (
	"context"
	"errors"
	"fmt"

	"spendsync/extract"
	"spendsync/load/durable"
)

// ErrUsage marks mistakes of the caller: in arguments or configuration.
var ErrUsage = errors.New("usage")

// ErrOtherAccount marks valid credentials that belong to an account other than the stored account.
var ErrOtherAccount = errors.New("the key acts on another account")

// ErrOtherReport marks a report that probably belongs to an account other than the API key's account.
var ErrOtherReport = errors.New("the report is not this account's")

// ErrPartial marks work that is only partly done; the message names the missing part.
var ErrPartial = errors.New("incomplete")

// Usagef returns an error with the given text that matches [ErrUsage], so that the command ends with exit code 2.
func Usagef(format string, args ...any) error {
	return fmt.Errorf("%s%w", fmt.Sprintf(format, args...), hidden{ErrUsage})
}

// As returns an error with the text of err and the exit code of another error.
func As(err, as error) error { return fmt.Errorf("%w%w", err, hidden{as}) }

// hidden makes errors.Is find an error without showing the error's text.
type hidden struct{ error }

func (hidden) Error() string   { return "" }
func (h hidden) Unwrap() error { return h.error }

// Outcome is the error of a command that has already printed its last lines. Only the exit code is left to set.
type Outcome struct {
	Code    int
	Happens string
}

func (o *Outcome) Error() string { return o.Happens }

// Of returns the exit code of an error. An error that matches several cases gets the code of the first one.
func Of(err error) int {
	if o, ok := err.(*Outcome); ok {
		return o.Code
	}
	var unproven *extract.UnprovenError
	switch {
	case err == nil:
		return OK
	case errors.Is(err, ErrUsage), errors.Is(err, durable.ErrEmpty), errors.Is(err, durable.ErrIsCopy),
		errors.Is(err, durable.ErrIsStore):
		return Usage
	case errors.Is(err, ErrPartial):
		return Partial
	case errors.Is(err, durable.ErrLocked):
		return Locked
	case errors.Is(err, durable.ErrNewer), errors.Is(err, durable.ErrOlder):
		return Newer
	case errors.Is(err, extract.ErrAuth), errors.Is(err, ErrOtherAccount), errors.Is(err, ErrOtherReport):
		return Auth
	case errors.Is(err, durable.ErrDamaged):
		return Damaged
	case errors.Is(err, durable.ErrStorage):
		return Storage
	case errors.Is(err, context.Canceled):
		return Stopped
	case errors.Is(err, extract.ErrPage):
		return Contract
	case errors.Is(err, extract.ErrUnavailable):
		return Unreachable
	case errors.Is(err, extract.ErrContract), errors.Is(err, extract.ErrUnreachable), errors.As(err, &unproven):
		return Contract
	}
	return Unexpected
}

// advised is an error with advice for the operator.
type advised struct {
	error
	do string
}

func (a *advised) Unwrap() error { return a.error }

// Advise adds advice for the operator to an error, in place of the advice of its exit code.
func Advise(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &advised{err, fmt.Sprintf(format, args...)}
}

// Advice returns the advice that [Advise] added, or "".
func Advice(err error) string {
	if a, ok := errors.AsType[*advised](err); ok {
		return a.do
	}
	return ""
}
