//go:build !linux

package durable

import "errors"

// Clone is [FS.Clone].
func (System) Clone(string, string) error { return errors.ErrUnsupported }
