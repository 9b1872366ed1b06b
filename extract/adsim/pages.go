package adsim

import (
	"fmt"
	"net/url"
)

// prerender renders all pages of a question of the report (the query parameters,
// page aside) and keeps them, so that a benchmark that asks it finds them ready.
// It needs Config.Prerender. It returns how many pages and bytes there are.
func (p *reporter) prerender(query url.Values) (pages int, size int64, err error) {
	st := p.world.snapshot()
	rq, text := parseReport(query, st.today)
	switch {
	case text != "":
		return 0, 0, fmt.Errorf("prerender: %s", text)
	case !p.world.cfg.Prerender:
		return 0, 0, fmt.Errorf("prerender: Config.Prerender is off")
	}
	total := st.answer(rq.question).total
	for rq.page = 1; (rq.page-1)*rq.size < total; rq.page++ {
		size += int64(len(p.page(&st, rq, nil)))
		pages++
	}
	return pages, size, nil
}
