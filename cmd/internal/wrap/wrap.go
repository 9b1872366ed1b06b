// Package wrap breaks texts at words, to fit a terminal.
package wrap

import (
	"regexp"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// Line breaks a line so that each line has at most width columns. Lines after the first one begin with the indent. A
// word longer than a line stays unbroken.
func Line(line string, width int, indent string) string {
	lead := line[:len(line)-len(strings.TrimLeft(line, " "))]
	var b strings.Builder
	b.WriteString(lead)
	used := len(lead)
	for i, word := range strings.Fields(line) {
		n := text.StringWidthWithoutEscSequences(word)
		switch {
		case i == 0:
		case used+1+n > width:
			b.WriteString("\n" + indent)
			used = len(indent)
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}

// entry is a line of a list: a name or a number, and its meaning after at least two spaces.
var entry = regexp.MustCompile(`^( +\S.*?  +)(\S.*)$`)

// explanation is the least indent of a line that explains the name above it.
const explanation = "      "

// Help fits a help text to a width. Lines that are not indented form a paragraph up to the next empty or indented
// line, wherever they were broken. The meaning in an entry of a list continues below itself. Other indented lines
// are commands to paste, and stay as they are.
func Help(help string, width int) string {
	var out []string
	var paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			out = append(out, Line(strings.Join(paragraph, " "), width, ""))
			paragraph = nil
		}
	}
	for line := range strings.SplitSeq(help, "\n") {
		if line != "" && line[0] != ' ' {
			paragraph = append(paragraph, line)
			continue
		}
		flush()
		switch parts := entry.FindStringSubmatch(line); {
		case parts != nil:
			indent := strings.Repeat(" ", text.StringWidthWithoutEscSequences(parts[1]))
			line = parts[1] + strings.TrimLeft(Line(indent+parts[2], max(width, 2*len(indent)), indent), " ")
		case strings.HasPrefix(line, explanation):
			line = Line(line, width, line[:len(line)-len(strings.TrimLeft(line, " "))])
		}
		out = append(out, line)
	}
	flush()
	return strings.Join(out, "\n")
}
