package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"
	"strings"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
)

// Secret is a value that is never shown in a log, an error or a file.
type Secret string

func (Secret) String() string               { return "[redacted]" }
func (Secret) GoString() string             { return "[redacted]" }
func (Secret) LogValue() slog.Value         { return slog.StringValue("[redacted]") }
func (Secret) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

// Credentials holds the secrets of both interfaces. Its fields are exported so that fmt calls their String methods.
type Credentials struct {
	APIKey         Secret
	User           string
	ReportPassword Secret
}

// credentials reads the secrets. It reads the files again on each call, to pick up rotated secrets.
func (c *Config) credentials() (k Credentials, err error) {
	if len(c.missing) > 0 {
		return k, exit.Advise(exit.Usagef("%s", missingText(c.missing, c.unknown)),
			"'spendsync init' asks for them; 'spendsync help config' describes each variable")
	}
	if len(c.wrongProxies) > 0 {
		return k, exit.Advise(exit.Usagef("%s", strings.Join(c.wrongProxies, "; ")),
			"correct the variable, or unset it")
	}
	k.User = c.ReportUser
	if strings.ContainsRune(k.User, ':') {
		return k, exit.Usagef("%sREPORT_USER has a colon, which HTTP Basic cannot carry", Prefix)
	}
	if k.APIKey, err = ReadSecret("API_KEY", c.APIKey, c.files["API_KEY_FILE"]); err != nil {
		return k, err
	}
	k.ReportPassword, err = ReadSecret("REPORT_PASSWORD", c.ReportPass, c.files["REPORT_PASSWORD_FILE"])
	return k, err
}

// missingIn returns the required variables that are not set.
func missingIn(env map[string]string) (missing []Variable) {
	for _, v := range Variables() {
		if v.Default == "required" && env[v.Name] == "" && (!v.IsSecret || env[v.Name+"_FILE"] == "") {
			missing = append(missing, v)
		}
	}
	return missing
}

// missingText names all missing variables, and variables with similar names that are set.
func missingText(missing []Variable, unknown []string) string {
	var texts, names []string
	for _, v := range missing {
		text := Prefix + v.Name
		if v.IsSecret {
			text += " (or " + text + "_FILE)"
		}
		texts, names = append(texts, text), append(names, v.Name)
	}
	text := "not set: " + strings.Join(texts, ", ")
	for _, name := range unknown {
		if meant := Meant(name, names...); meant != "" {
			text += "; " + Prefix + name + " is set: did you mean " + meant + "?"
		}
	}
	return text
}

// isSet reports whether a secret is set, by its variable or by a file.
func (c *Config) isSet(name string, value Secret) bool {
	return value != "" || c.files[name+"_FILE"] != ""
}

// ReadSecret returns a secret of one line, from a variable's value or from the file that another variable names.
func ReadSecret(name string, value Secret, file string) (Secret, error) {
	value, err := readSecret(name, value, file)
	if err != nil {
		return "", err
	}
	var why string
	switch isKey := name == "API_KEY"; {
	case isKey && isQuoted(string(value)):
		why = "is in quotes; write the key without them"
	case isKey && bearer.MatchString(string(value)):
		why = `begins with "Bearer"; write the key without it`
	case strings.HasPrefix(string(value), "\ufeff"):
		why = "begins with a byte order mark; write it without one"
	case strings.ContainsAny(string(value), "\x00\r\n"):
		why = "holds a line break"
	default:
		return value, nil
	}
	return "", exit.Usagef("%s%s %s", Prefix, name, why)
}

var bearer = regexp.MustCompile("^(?i)bearer ")

// readSecret returns a secret that may have several lines.
func readSecret(name string, value Secret, file string) (Secret, error) {
	switch {
	case value != "" && file != "":
		return "", exit.Usagef("both %s%s and %s%s_FILE are set; which one counts?", Prefix, name, Prefix, name)
	case value == "" && file == "":
		return "", exit.Usagef("neither %s%s nor %s%s_FILE is set; see 'spendsync help config'", Prefix, name, Prefix,
			name)
	case file == "":
		return value, nil
	}
	b, err := cli.ReadFile(file, cli.MaxSecret)
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
	// Editors and kubectl end files with a newline; no secret ends with one.
	if b = bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r")); len(b) == 0 {
		return "", exit.Usagef("%s%s_FILE: %s is empty", Prefix, name, file)
	}
	return Secret(b), nil
}
