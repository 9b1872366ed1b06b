package wrap

import (
	"regexp"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// labeled matches the label at the start of a line, up to the value.
var labeled = regexp.MustCompile(`^ *(?:\S+ ){0,4}\S+ {2,}`)

// Text breaks long lines of a text between words. A value continues below its start.
func Text(all string, width int) string {
	lines := strings.Split(all, "\n")
	for i, line := range lines {
		if text.StringWidthWithoutEscSequences(line) <= width {
			continue
		}
		label := labeled.FindString(line)
		if len(label) == 0 || len(label) > width/2 {
			label = line[:len(line)-len(strings.TrimLeft(line, " "))]
		}
		indent := strings.Repeat(" ", len(label))
		lines[i] = label + strings.TrimPrefix(Line(indent+line[len(label):], width, indent), indent)
	}
	return strings.Join(lines, "\n")
}
