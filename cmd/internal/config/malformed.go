package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"spendsync/extract/outbound"
)

// form is the syntax of one variable's values. Config.check makes the checks that need more than the syntax.
type form struct {
	fits func(string) bool
	must string
}

var forms = map[string]form{
	"YOUNG_DAYS":          whole(0, 33),
	"REREAD_AFTER":        duration(0, "20h"),
	"PAGE_SIZE":           whole(1, 10000),
	"REQUESTS_PER_MINUTE": whole(1, 120),
	"HTTP_TIMEOUT":        duration(time.Millisecond, "60s"),
	"RETRY_BUDGET":        duration(0, "10m"),
	"LOCK_WAIT":           duration(0, "5m"),
	"DUCKDB_MEMORY":       {fitsMemory, "must be a size from 64MiB to 1024TiB, for example 512MiB"},
	"PAYOUTS": {func(s string) bool { return !slices.Contains(strings.Split(strings.ReplaceAll(s, " ", ""), ","), "") },
		"must be names of files with commas between, for example payouts.csv,exports/*.csv"},
	"LOG_FORMAT": oneOf("text", "json"),
	"LOG_LEVEL":  oneOf("debug", "info", "warn", "error"),
	"ALLOW_HTTP": {func(s string) bool { _, err := strconv.ParseBool(s); return err == nil }, "must be true or false"},
}

func whole(from, to int) form {
	return form{func(s string) bool {
		n, err := strconv.Atoi(s)
		return err == nil && n >= from && n <= to
	}, fmt.Sprintf("must be a whole number from %d to %d", from, to)}
}

func duration(least time.Duration, example string) form {
	return form{func(s string) bool {
		d, err := time.ParseDuration(s)
		return err == nil && d >= least
	}, fmt.Sprintf("must be a number with its unit (s, m or h), at least %v, for example %s", least, example)}
}

var size = regexp.MustCompile(`^[0-9]+(\.[0-9]+)? ?[KMGT]i?B$`)

// fitsMemory reports whether a text is an amount of memory with which DuckDB works. For these bounds, MB equals MiB.
func fitsMemory(s string) bool {
	n, err := humanize.ParseBytes(strings.TrimRight(s, "iB") + "iB")
	return size.MatchString(s) && err == nil && n >= 64<<20 && n <= 1<<50
}

func oneOf(texts ...string) form {
	return form{func(s string) bool { return slices.Contains(texts, s) }, "must be one of " + strings.Join(texts, ", ")}
}

// dropMalformed removes the variables whose value has the wrong syntax or is in quotes, and describes each of them.
// (docker's --env-file keeps quotes.) A value in quotes is never shown, because it may be a secret.
func dropMalformed(env map[string]string) (wrong []string) {
	for _, name := range names() {
		value, f := env[name], forms[name]
		switch {
		case isQuoted(value):
			wrong = append(wrong, Prefix+name+" is in quotes, which docker's --env-file keeps; write the value "+
				"without them")
		case value != "" && f.fits != nil && !f.fits(value):
			wrong = append(wrong, fmt.Sprintf("%s%s=%q: %s", Prefix, name, value, f.must))
		default:
			continue
		}
		delete(env, name)
	}
	return wrong
}

func isQuoted(v string) bool {
	n := len(v)
	return n > 1 && (v[0] == '"' || v[0] == '\'') && v[0] == v[n-1]
}

// wrongProxies describes each HTTPS_PROXY variable that cannot be parsed: the standard library would silently use no
// proxy. The text never shows the value, which may contain a password.
func wrongProxies(environ []string) (wrong []string) {
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if value == "" || !strings.EqualFold(name, "HTTPS_PROXY") {
			continue
		}
		if !strings.Contains(value, "://") { // as the standard library does
			value = "http://" + value
		}
		u, err := outbound.ParseURL(value)
		if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
			wrong = append(wrong, name+" is not of the form http://user:password@host:port; in the user and the "+
				"password write % as %25, @ as %40 and a blank as %20")
		}
	}
	return wrong
}
