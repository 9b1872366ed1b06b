package page

import (
	"fmt"
	"hash/fnv"
	"html/template"
)

// standIn draws a landscape in the place of a picture, which is not stored: the service gives only its ID or address,
// and the page requests nothing. Equal pictures have equal drawings, in the colors of the campaigns.
func standIn(picture string) template.HTML {
	h := fnv.New64a()
	_, _ = h.Write([]byte(picture))
	bits := h.Sum64()
	choose := func(n uint64) int {
		choice := bits % n
		bits /= n
		return int(choice)
	}
	sky, sun, far, near := choose(6), choose(6), choose(6), choose(6)
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 40 20" preserveAspectRatio="xMidYMid slice" `+
		`aria-hidden="true">`+
		`<rect class="f%d" width="40" height="20" fill-opacity=".2"/>`+
		`<circle class="f%d" cx="%d" cy="%d" r="%d" fill-opacity=".8"/>`+
		`<path class="f%d" d="M0 20V%dQ%d %d 40 %dV20Z" fill-opacity=".5"/>`+
		`<path class="f%d" d="M0 20V%dQ%d %d 40 %dV20Z" fill-opacity=".8"/></svg>`,
		sky, sun, 12+choose(17), 4+choose(5), 2+choose(3),
		far, 9+choose(5), 10+choose(20), 3+choose(8), 9+choose(6),
		near, 13+choose(5), 8+choose(24), 9+choose(9), 12+choose(6)))
}
