//go:build !linux

package check

import (
	"os"
	"strconv"
)

func uidText() string { return strconv.Itoa(os.Geteuid()) }

// remoteFileSystem knows Linux alone.
func remoteFileSystem(string) string { return "" }
