package config

import (
	"net/http"
	"sync/atomic"
)

// authorization is the value of an Authorization header that may be replaced
// while requests are under way.
type authorization struct{ value atomic.Pointer[string] }

func newAuthorization(v string) *authorization {
	a := &authorization{}
	a.value.Store(&v)
	return a
}

func (a *authorization) set(r *http.Request) { r.Header.Set("Authorization", *a.value.Load()) }

// replace reports whether the value is another than before.
func (a *authorization) replace(v string) bool { return *a.value.Swap(&v) != v }
