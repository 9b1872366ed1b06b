//go:build !linux

package check

import (
	"os"
	"strconv"
)

func uidText() string { return strconv.Itoa(os.Geteuid()) }

// remoteFileSystem and lockOwner know Linux alone.
func remoteFileSystem(string) string { return "" }

func lockOwner(*os.File) string { return "" }
