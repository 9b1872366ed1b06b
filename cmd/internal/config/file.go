package config

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/joho/godotenv"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/internal/files"
)

// FileName is the configuration file that is read from the working folder if it exists.
const FileName = "spendsync.env"

// WithFile returns an environment with the variables of a configuration file below it: a variable
// that the environment sets to a value wins. Without a name the file is [FileName], and may be missing.
func WithFile(environ []string, name string) ([]string, error) {
	b, err := files.Read(cmp.Or(name, FileName), files.MaxSecret)
	if errors.Is(err, fs.ErrNotExist) && name == "" {
		return environ, nil
	}
	if err != nil {
		return nil, exit.Advise(exit.Usagef("--config: %v", err), "name a file that exists and that you may read")
	}
	name = cmp.Or(name, FileName)
	read, err := godotenv.Parse(bytes.NewReader(b))
	if err != nil { // it quotes the line, and with it a secret
		return nil, exit.Advise(exit.Usagef("%s: a line is not of the form NAME=value", name),
			"write one NAME=value a line, with quotes around values that hold spaces or #")
	}
	set := map[string]bool{}
	for _, kv := range environ {
		k, v, _ := strings.Cut(kv, "=")
		set[k] = v != ""
	}
	var below []string
	for _, k := range slices.Sorted(maps.Keys(read)) {
		if !strings.HasPrefix(k, Prefix) && !strings.HasPrefix(k, "OTEL_") {
			return nil, exit.Advise(exit.Usagef("%s sets %s, which has no effect from a file", name, k),
				"remove it, or set it in the environment; the file is for variables that begin with %s or OTEL_",
				Prefix)
		}
		if !set[k] {
			below = append(below, k+"="+read[k])
		}
	}
	return append(below, environ...), nil
}

// WriteFile writes variables as a configuration file that only its owner can read. It replaces no file.
func WriteFile(name string, variables [][2]string) error {
	var b strings.Builder
	b.WriteString("# Variables of spendsync; 'spendsync help config' describes all of them.\n")
	for _, kv := range variables {
		line, err := godotenv.Marshal(map[string]string{Prefix + kv[0]: kv[1]})
		if err != nil {
			return err
		}
		b.WriteString(line + "\n")
	}
	return files.WriteNew(name, b.String())
}

// WriteSecret writes a secret into a file that only its owner can read. It replaces no file.
func WriteSecret(name string, secret Secret) error { return files.WriteNew(name, string(secret)+"\n") }
