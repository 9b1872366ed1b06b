package pagedata

import (
	"embed"
	"fmt"
	"regexp"
	"strings"

	"spendsync/cmd/spendsync/page"
)

//go:embed sql/*.sql
var files embed.FS

// names lists the sections in the order of the page. Each is also the name of an SQL file. First come those that a
// media buyer needs each day, then those that the page shows collapsed.
var names = []string{"tiles", "do", "changed", "spend", "campaigns", "sources", "creatives", "today", "money",
	"settings",
	"bids", "restated", "days", "sync", "thresholds"}

// section is a section of the page with its queries. Its blocks have no rows until the queries have run.
type section struct {
	page.Section
	sql []string // one query per block
}

// head matches the comment that begins a block in an SQL file: its kind and, after a colon, an optional caption.
var head = regexp.MustCompile(`(?m)^-- Block (\w+)(?:: (.*))?\n`)

// sections reads the sections of the page from their SQL files. The first line of a file has the title; a line "--
// Folded." means that the page shows the section collapsed.
func sections() (all []section) {
	for _, name := range names {
		text := read(name)
		title, _, _ := strings.Cut(strings.TrimPrefix(text, "-- "), "\n")
		s := section{Section: page.Section{Name: name, Title: title}}
		at := head.FindAllStringSubmatchIndex(text, -1)
		s.Folded = strings.Contains(text[:at[0][0]], "\n-- Folded.\n")
		for i, m := range at {
			end := len(text)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			b := page.Block{Kind: text[m[2]:m[3]]}
			if m[4] >= 0 {
				b.Caption = text[m[4]:m[5]]
			}
			s.Blocks, s.sql = append(s.Blocks, b), append(s.sql, text[m[1]:end])
		}
		all = append(all, s)
	}
	return all
}

func read(name string) string {
	b, err := files.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(fmt.Sprint("embedded: ", err))
	}
	return string(b)
}
