//go:build !linux

package check

import (
	"os"
	"strconv"
)

func uidText() string { return strconv.Itoa(os.Geteuid()) }

// remoteFileSystem, canClone and lockOwner know Linux alone.
func remoteFileSystem(string) string { return "" }

func canClone(_, _ string) bool { return false }

func lockOwner(*os.File) string { return "" }
