package phrase

import (
	"fmt"
	"strings"

	"spendsync/cmd/internal/wrap"
)

// Entry is a line of a list: a name, and from a column on its meaning, wrapped there. A name that is too long has a
// line of its own.
func Entry(name, meaning string, column, width int) string {
	indent := strings.Repeat(" ", column)
	line := fmt.Sprintf("%-*s", column, name)
	if len(name) >= column {
		line += "\n" + indent
	}
	return line + strings.TrimLeft(wrap.Line(indent+meaning, max(width, 2*column), indent), " ") + "\n"
}
