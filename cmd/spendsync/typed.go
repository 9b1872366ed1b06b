package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// typed returns a command line to paste. The line begins with the program as the user started it. If the user started
// it with 'go run', the line begins with 'go run', because the built program is deleted afterwards.
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
