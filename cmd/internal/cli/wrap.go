package cli

import (
	"regexp"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// WrapLine breaks a line so that each line has at most width columns. Lines after the first one begin with the indent.
// A word longer than a line stays unbroken.
func WrapLine(line string, width int, indent string) string {
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

// label is what begins an entry of a list: a name or a number, before its meaning after at least two spaces.
var label = regexp.MustCompile(`^ *(?:\S+ ){0,4}\S+ {2,}`)

// WrapText breaks the long lines of a text between words. The meaning in an entry of a list continues below its start.
func WrapText(all string, width int) string {
	lines := strings.Split(all, "\n")
	for i, line := range lines {
		if text.StringWidthWithoutEscSequences(line) <= width {
			continue
		}
		begins := label.FindString(line)
		if begins == "" || len(begins) > width/2 {
			begins = line[:len(line)-len(strings.TrimLeft(line, " "))]
		}
		indent := strings.Repeat(" ", text.StringWidthWithoutEscSequences(begins))
		lines[i] = begins + strings.TrimPrefix(WrapLine(indent+line[len(begins):], width, indent), indent)
	}
	return strings.Join(lines, "\n")
}

// explanation is the least indent of a line that explains the name above it.
const explanation = "      "

// wrapHelp fits a help text to a width. Lines that are not indented form a paragraph up to the next empty or indented
// line, wherever they were broken. Indented lines that are neither entries of a list nor explanations are commands to
// paste, and stay as they are.
func wrapHelp(help string, width int) string {
	var out, paragraph []string
	for line := range strings.SplitSeq(help+"\n", "\n") {
		if line != "" && line[0] != ' ' {
			paragraph = append(paragraph, line)
			continue
		}
		if len(paragraph) > 0 {
			out, paragraph = append(out, WrapLine(strings.Join(paragraph, " "), width, "")), nil
		}
		if label.MatchString(line) || strings.HasPrefix(line, explanation) {
			line = WrapText(line, width)
		}
		out = append(out, line)
	}
	return strings.Join(out[:len(out)-1], "\n")
}

// Entry is a line of a list: a name, and from a column on its meaning, wrapped there. A name that is too long has a
// line of its own.
func Entry(name, meaning string, column, width int) string {
	indent := strings.Repeat(" ", column)
	if len(name) >= column {
		name += "\n" + indent
	} else {
		name += indent[len(name):]
	}
	return name + strings.TrimLeft(WrapLine(indent+meaning, max(width, 2*column), indent), " ") + "\n"
}
