package job

import (
	"cmp"
	"regexp"
	"strings"

	"spendsync/extract"
)

// endingNote begins the names of notes of what the service announces to end.
const endingNote = "service.ends."

// announced is the end of a path, as the headers Deprecation and Sunset announce it. It is a note: a person has to
// know of it, and after three runs it ends none with exit 4 any more.
type announced struct{ extract.Ending }

// endings returns what the service has announced in this run.
func (s *session) endings() (all []announced) {
	for _, e := range append(s.Report.Endings(), s.API.Endings()...) {
		all = append(all, announced{e})
	}
	return all
}

var notInNames = regexp.MustCompile(`[^a-z0-9-]+`)

// when is the part of a note's name that tells announcements apart. Which path is the first to show one is chance.
func (a announced) when() string {
	return strings.Trim(notInNames.ReplaceAllString(strings.ToLower(cmp.Or(a.Sunset, a.Deprecated)), "-"), "-")
}

func (a announced) String() string {
	text := "the service announces that a path ends"
	if a.Sunset != "" {
		text += " on " + a.Sunset
	}
	if a.Deprecated != "" {
		text += ", deprecated: " + a.Deprecated
	}
	return text + " (" + a.Path + "); look for a newer version of spendsync"
}
