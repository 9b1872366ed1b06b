package cli

import (
	"regexp"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// WrapLine wraps a line at a width. The lines after the first begin with the indent. Words longer than a line are not
// broken.
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

// label matches the start of a list entry: a name or number, then at least two spaces before its meaning.
var label = regexp.MustCompile(`^ *(?:\S+ ){0,4}\S+ {2,}`)

// WrapText wraps the lines of a text that are longer than the width. In a list entry, the new lines are indented to the
// column where the entry's meaning starts.
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

// explanation is the minimum indent of a line that explains the name on the line above.
const explanation = "      "

// wrapHelp wraps a help text. Lines without an indent form a paragraph up to the next empty or indented line. Indented
// lines other than list entries and explanations are commands to paste, and stay unchanged.
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

// Entry formats a list entry: a name, and its meaning, wrapped in a column of its own. If the name reaches that column,
// the meaning starts on the next line.
func Entry(name, meaning string, column, width int) string {
	indent := strings.Repeat(" ", column)
	if len(name) >= column {
		name += "\n" + indent
	} else {
		name += indent[len(name):]
	}
	return name + strings.TrimLeft(WrapLine(indent+meaning, max(width, 2*column), indent), " ") + "\n"
}
