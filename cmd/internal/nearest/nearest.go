// Package nearest finds the names that somebody who wrote an unknown one may have meant.
package nearest

import (
	"slices"
	"strings"
)

// Of returns the names that somebody who wrote another one may have meant, nearest
// first: at most three that are about as near, and none where all are far from it.
func Of(written string, names []string) []string {
	type near struct {
		name     string
		distance int
	}
	var found []near
	written = strings.ToLower(written)
	for _, name := range names {
		_, short, qualified := strings.Cut(name, ".")
		d := editDistance(written, name)
		if qualified {
			d = min(d, editDistance(written, short))
		}
		plain := strings.NewReplacer("_", "", "-", "", " ", "")
		if plain.Replace(written) == plain.Replace(name) {
			d = 0
		}
		if d <= max(1, len(written)/3) {
			found = append(found, near{name, d})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return a.distance - b.distance })
	var meant []string
	for _, n := range found[:min(3, len(found))] {
		if n.distance <= found[0].distance+1 {
			meant = append(meant, n.name)
		}
	}
	return meant
}

// DidYouMean returns a question to append to a message about an unknown name, with the results of
// [Of]; empty if there are none.
func DidYouMean(written string, names []string) string {
	if meant := Of(written, names); len(meant) > 0 {
		return "; did you mean " + strings.Join(meant, " or ") + "?"
	}
	return ""
}

// editDistance is how many characters have to be inserted, removed, replaced or
// swapped with their neighbor to make one text the other: the optimal string alignment
// distance.
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			change := rows[i-1][j-1]
			if x[i-1] != y[j-1] {
				change++
			}
			rows[i][j] = min(change, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(x)][len(y)]
}
