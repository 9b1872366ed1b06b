package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// dropMalformed takes out the variables whose text is not of their kind, and describes each in words.
func dropMalformed(env map[string]string) (wrong []string) {
	for _, v := range Variables() {
		value, must := env[v.Name], ""
		var err error
		switch v.kind {
		case "time.Duration":
			must = "must be a number with its unit (s, m or h), for example " + v.Default
			_, err = time.ParseDuration(value)
		case "int":
			must = "must be a whole number, for example " + v.Default
			_, err = strconv.Atoi(value)
		case "bool":
			must = "must be true or false"
			_, err = strconv.ParseBool(value)
		}
		if value != "" && err != nil {
			delete(env, v.Name)
			wrong = append(wrong, fmt.Sprintf("%s%s=%q: %s", Prefix, v.Name, value, must))
		}
	}
	return wrong
}

// inQuotes names each variable whose value stands in quotes, as docker's --env-file leaves them. It never shows the
// value.
func inQuotes(env map[string]string) (wrong []string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if isQuoted(env[name]) {
			wrong = append(wrong, Prefix+name+" is in quotes, which docker's --env-file keeps; write the "+
				"value without them")
		}
	}
	return wrong
}

func isQuoted(v string) bool {
	n := len(v)
	return n > 1 && (v[0] == '"' || v[0] == '\'') && v[0] == v[n-1]
}

// wrongProxies names the variables of a proxy that cannot be parsed: the standard library would go on without the
// proxy. It never shows the value, which may hold a password.
func wrongProxies(environ []string) (wrong []string) {
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if value == "" || !strings.EqualFold(name, "HTTPS_PROXY") {
			continue
		}
		if !strings.Contains(value, "://") { // as the standard library does
			value = "http://" + value
		}
		u, err := url.Parse(value)
		if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
			wrong = append(wrong, name+" is not of the form http://user:password@host:port; in the user and the "+
				"password write % as %25, @ as %40 and a blank as %20")
		}
	}
	return wrong
}
