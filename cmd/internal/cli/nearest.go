package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Nearest returns at most three names that are similar to a word, by the rule with which cobra suggests commands. A
// name with a schema, for example mart.to_do, also matches by the part after its schema.
func Nearest(written string, names []string) (meant []string) {
	plain := strings.NewReplacer("_", "", "-", "", " ", "")
	if written = plain.Replace(strings.ToLower(written)); written == "" {
		return nil
	}
	of := &cobra.Command{SuggestionsMinimumDistance: max(2, len(written)/3)}
	for _, name := range names {
		for _, part := range []string{name, name[strings.LastIndex(name, ".")+1:]} {
			of.AddCommand(&cobra.Command{Use: plain.Replace(strings.ToLower(part)), Aliases: []string{name},
				Run: func(*cobra.Command, []string) {}})
		}
	}
	near := of.SuggestionsFor(written)
	for _, c := range of.Commands() {
		if slices.Contains(near, c.Name()) && !slices.Contains(meant, c.Aliases[0]) {
			meant = append(meant, c.Aliases[0])
		}
	}
	return meant[:min(3, len(meant))]
}

// DidYouMean returns a question with the names of [Nearest], to append to a message. It returns "" if no name is
// similar.
func DidYouMean(written string, names []string) string {
	if meant := Nearest(written, names); len(meant) > 0 {
		return "; did you mean " + strings.Join(meant, " or ") + "?"
	}
	return ""
}
