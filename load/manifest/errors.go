package manifest

import "errors"

// ErrNewer means that a newer version of spendsync wrote the store.
var ErrNewer = errors.New("the store was written by a newer version")
