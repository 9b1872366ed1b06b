package phrase

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// Wrap breaks a line at words so that each line has at most width columns. Lines after the first one
// begin with the indent. A word longer than a line stays whole.
func Wrap(line string, width int, indent string) string {
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

// Entry is a line of a list: a name, and from a column on its meaning, wrapped there. A name that is too long has a
// line of its own.
func Entry(name, meaning string, column, width int) string {
	indent := strings.Repeat(" ", column)
	line := fmt.Sprintf("%-*s", column, name)
	if len(name) >= column {
		line += "\n" + indent
	}
	return line + strings.TrimLeft(Wrap(indent+meaning, max(width, 2*column), indent), " ") + "\n"
}
