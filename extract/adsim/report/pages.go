package report

import (
	"fmt"
	"net/url"
)

// Prerender renders all pages of a question of the report (the query parameters,
// page aside) and keeps them, so that a benchmark that asks it finds them ready.
// It needs Config.Prerender. It returns how many pages and bytes there are.
func (p *Account) Prerender(query url.Values) (pages int, size int64, err error) {
	st := p.world.Snapshot()
	rq, text := ParseReport(query, st.Today)
	switch {
	case text != "":
		return 0, 0, fmt.Errorf("prerender: %s", text)
	case !p.world.Cfg.Prerender:
		return 0, 0, fmt.Errorf("prerender: Config.Prerender is off")
	}
	total := st.Answer(rq.Question).Total
	for rq.Page = 1; (rq.Page-1)*rq.size < total; rq.Page++ {
		size += int64(len(p.Page(&st, rq, nil)))
		pages++
	}
	return pages, size, nil
}
