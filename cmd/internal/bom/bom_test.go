package bom

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// words are what a licence is known by, in lower case and with single spaces.
var words = map[string]*regexp.Regexp{
	"Apache-2.0": regexp.MustCompile(`apache license.{0,20}version 2\.0`),
	"MIT":        regexp.MustCompile(`permission is hereby granted, free of charge`),
	"BSD-3-Clause": regexp.MustCompile(`redistribution and use in source and binary forms.*(neither the ` +
		`name|used to endorse)`),
	"BSD-2-Clause":         regexp.MustCompile(`redistribution and use in source and binary forms`),
	"ISC":                  regexp.MustCompile(`permission to use, copy, modify,? and(/or)? distribute`),
	"MPL-2.0":              regexp.MustCompile(`mozilla public license`),
	"OFL-1.1":              regexp.MustCompile(`sil open font license`),
	"Unlicense":            regexp.MustCompile(`free and unencumbered software`),
	"CC-BY-4.0":            regexp.MustCompile(`creative commons attribution 4\.0`),
	"FTL":                  regexp.MustCompile(`freetype license`),
	"GPL-2.0-or-later":     regexp.MustCompile(`gnu general public license.{0,10}version 2 or later`),
	"a licence of the GNU": regexp.MustCompile(`gnu (lesser |affero )?general public license`),
}

// licencesIn reads which licences the files of a module name.
func licencesIn(t *testing.T, dir string) (found []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicen[cs]e)`)
	for _, e := range entries {
		if e.IsDir() || !name.MatchString(e.Name()) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(strings.ToLower(string(b))), " ")
		in := map[string]bool{}
		for id, known := range words {
			in[id] = known.MatchString(text)
		}
		// Some have the words of another in them.
		in["BSD-2-Clause"] = in["BSD-2-Clause"] && !in["BSD-3-Clause"]
		in["MIT"] = in["MIT"] && !in["OFL-1.1"]
		in["a licence of the GNU"] = in["a licence of the GNU"] && !in["GPL-2.0-or-later"] && !in["MPL-2.0"]
		for id := range in {
			if in[id] && !slices.Contains(found, id) {
				found = append(found, id)
			}
		}
	}
	slices.Sort(found)
	return found
}

// TestLicenses_AreThoseOfTheModules holds licenses.txt to the files of the modules that
// both binaries are linked from.
func TestLicenses_AreThoseOfTheModules(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if .Version}}{{.Path}} "+
		"{{.Dir}}{{end}}{{end}}", "spendsync/cmd/spendsync", "spendsync/cmd/spendsync-lake").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	of, n := Licenses(), 0
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(lines)
	for _, line := range slices.Compact(lines) {
		module, dir, ok := strings.Cut(line, " ")
		if !ok {
			continue
		}
		n++
		named := regexp.MustCompile(` (AND|OR) `).Split(of[module], -1)
		slices.Sort(named)
		if found := licencesIn(t, dir); !slices.Equal(found, named) {
			t.Errorf("%s: licenses.txt says %q, its files say %q", module, of[module], found)
		}
	}
	if n < 50 {
		t.Errorf("%d modules", n)
	}
}
