package config

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/internal/files"
)

// Secret is a value that never shows: not in a log, an error, a file.
type Secret string

func (Secret) String() string               { return "[redacted]" }
func (Secret) GoString() string             { return "[redacted]" }
func (Secret) LogValue() slog.Value         { return slog.StringValue("[redacted]") }
func (Secret) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

// Credentials are what the two interfaces ask for, read from their variables or
// files. Its fields are exported so that fmt asks them how to print.
type Credentials struct {
	APIKey         Secret
	User           string
	ReportPassword Secret
}

// credentials reads the secrets. Files are read each time, so that a rotated
// secret is taken up.
func (c *Config) credentials() (k Credentials, err error) {
	if len(c.missing) > 0 {
		return k, exit.Usagef("%s", missingText(c.missing, c.unknown))
	}
	if err := usage(c.wrongProxies); err != nil {
		return k, err
	}
	k.User = c.ReportUser
	if strings.ContainsRune(k.User, ':') {
		return k, exit.Usagef("%sREPORT_USER has a colon, which HTTP Basic cannot carry", Prefix)
	}
	if k.APIKey, err = c.secret("API_KEY", c.APIKey); err != nil {
		return k, err
	}
	k.ReportPassword, err = c.secret("REPORT_PASSWORD", c.ReportPass)
	return k, err
}

// missingIn returns the required variables that are not set.
func missingIn(env map[string]string) (names []string) {
	for _, v := range Variables() {
		if v.Default == "required" && env[v.Name] == "" && (!v.IsSecret || env[v.Name+"_FILE"] == "") {
			names = append(names, v.Name)
		}
	}
	return names
}

// missingText names all missing variables, and those that are set under a name like theirs.
func missingText(missing, unknown []string) string {
	var texts []string
	for _, v := range Variables() {
		text := Prefix + v.Name
		if v.IsSecret {
			text += " (or " + text + "_FILE)"
		}
		if slices.Contains(missing, v.Name) {
			texts = append(texts, text)
		}
	}
	verb := " is not set"
	if len(texts) > 1 {
		verb = " are not set"
	}
	text := strings.Join(texts, ", ") + verb
	for _, name := range unknown {
		if meant := Meant(name, missing...); meant != "" {
			text += "; " + Prefix + name + " is set: did you mean " + meant + "?"
		}
	}
	return text
}

// secretFilesIn returns the files that hold secrets: NAME_FILE for each secret NAME.
func secretFilesIn(env map[string]string) map[string]string {
	named := map[string]string{}
	for _, v := range Variables() {
		if file := env[v.Name+"_FILE"]; v.IsSecret && file != "" {
			named[v.Name] = file
		}
	}
	return named
}

// isSet reports whether a secret is given, by its variable or by a file.
func (c *Config) isSet(name string, value Secret) bool {
	return value != "" || c.secretFiles[name] != ""
}

// secret reads a secret of the configuration.
func (c *Config) secret(name string, value Secret) (Secret, error) {
	return ReadSecret(name, value, c.secretFiles[name])
}

// ReadSecret is a secret that a variable holds, or the file that another names.
func ReadSecret(name string, value Secret, file string) (Secret, error) {
	value, err := readSecret(name, value, file)
	if err != nil {
		return "", err
	}
	if name == "API_KEY" && isQuoted(string(value)) {
		return "", exit.Usagef("%s%s is in quotes; write the key without them", Prefix, name)
	}
	if name == "API_KEY" && strings.HasPrefix(strings.ToLower(string(value)), "bearer ") {
		return "", exit.Usagef("%s%s begins with \"Bearer\"; write the key without it", Prefix, name)
	}
	if strings.HasPrefix(string(value), "\ufeff") {
		return "", exit.Usagef("%s%s begins with a byte order mark; write it without one", Prefix, name)
	}
	if strings.ContainsAny(string(value), "\x00\r\n") {
		return "", exit.Usagef("%s%s holds a line break", Prefix, name)
	}
	return value, nil
}

// readSecret is a secret that may have several lines.
func readSecret(name string, value Secret, file string) (Secret, error) {
	if value != "" && file != "" {
		return "", exit.Usagef("both %s%s and %s%s_FILE are set; which one counts?", Prefix, name, Prefix, name)
	}
	if file != "" {
		b, err := files.Read(file, files.MaxSecret)
		if err != nil {
			if way, ok := errors.AsType[*fs.PathError](err); ok {
				err = fmt.Errorf("%s cannot be read: %w", way.Path, way.Err)
			}
			return "", exit.Advise(exit.Usagef("%s%s_FILE: %v", Prefix, name, err),
				"name a file that exists and that you may read")
		}
		if why := notText(b); why != "" {
			return "", exit.Usagef("%s%s_FILE: %s: %s", Prefix, name, file, why)
		}
		// Editors and kubectl end a file with a newline; no secret does.
		value = Secret(strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r"))
		if value == "" {
			return "", exit.Usagef("%s%s_FILE: %s is empty", Prefix, name, file)
		}
	}
	if value == "" {
		return "", exit.Usagef("neither %s%s nor %s%s_FILE is set; see 'spendsync help config'", Prefix, name,
			Prefix, name)
	}
	return value, nil
}
