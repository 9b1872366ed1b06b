package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// typed returns a command line to paste. It begins with the program as the user started it. If that was 'go run', it
// begins with 'go run', because the program is deleted afterwards.
func typed(args ...string) string {
	words := []string{program()}
	for _, arg := range args {
		words = append(words, shellQuote(arg))
	}
	return strings.Join(words, " ")
}

func program() string {
	if exe, err := os.Executable(); err == nil && strings.Contains(exe, string(filepath.Separator)+"go-build") {
		return "go run ./cmd/spendsync"
	}
	return shellQuote(os.Args[0])
}

// plainPath matches paths that need no quotes in a shell.
var plainPath = regexp.MustCompile(`^[A-Za-z0-9_./+:@%=-]+$`)

func shellQuote(path string) string {
	if plainPath.MatchString(path) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
