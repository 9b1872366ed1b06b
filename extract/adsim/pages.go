package adsim

import (
	"fmt"
	"net/url"
)

// Prerender renders all pages of a question of the report (the query parameters,
// page aside) and keeps them, so that a benchmark that asks it finds them ready.
// It needs Config.Prerender. It returns how many pages and bytes there are.
func (s *Service) Prerender(query url.Values) (pages int, size int64, err error) {
	st := s.snapshot()
	rq, text := parseReport(query, st.today)
	switch {
	case text != "":
		return 0, 0, fmt.Errorf("prerender: %s", text)
	case !s.cfg.Prerender:
		return 0, 0, fmt.Errorf("prerender: Config.Prerender is off")
	}
	total := s.answer(&st, rq.question).total
	for rq.page = 1; (rq.page-1)*rq.size < total; rq.page++ {
		size += int64(len(s.page(&st, rq, nil)))
		pages++
	}
	return pages, size, nil
}
