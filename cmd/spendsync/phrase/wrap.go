package phrase

import (
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
