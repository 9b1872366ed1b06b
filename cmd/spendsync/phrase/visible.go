package phrase

import (
	"fmt"
	"strings"
	"unicode"
)

// Unseen reports whether a character shows nothing but affects the text around it: controls,
// including the first characters of terminal commands, and marks that turn the direction of
// writing. The joiners within emoji and scripts are allowed.
func Unseen(r rune) bool {
	const zwnj, zwj = '\u200c', '\u200d'
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) || (unicode.Is(unicode.Cf, r) && r != zwnj &&
		r != zwj)
}

// Visible writes characters that are not seen as escapes, so that a hostile name
// can neither command a terminal nor turn a line around.
func Visible(text string) string {
	if strings.IndexFunc(text, Unseen) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !Unseen(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		case r > 0xff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\x%02x`, r)
		}
	}
	return b.String()
}

// VisibleLines keeps the line feeds.
func VisibleLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = Visible(l)
	}
	return strings.Join(lines, "\n")
}
