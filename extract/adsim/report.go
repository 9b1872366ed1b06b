package adsim

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	defaultPageSize = 1000
	maxPageSize     = 10000
)

// The texts of the description's error table.
const (
	textMissing      = "Missing required parameters: start_date, end_date"
	textDateFormat   = "Invalid date format (expected YYYY-MM-DD)"
	textDateOrder    = "start_date must be <= end_date"
	textTooFar       = "start_date cannot be more than 32 days before today"
	textNoAuth       = "Authentication required. Use Basic Auth or Bearer the service."
	textWrongAuth    = "Incorrect username or password"
	textUnconfirmed  = "User account not confirmed. Please check your email."
	textNoAdvertiser = "User does not have an advertiser_id assigned. Contact the service."
	textInternal     = "Internal server error"
)

// reportRequest is a question with its columns and its page.
type reportRequest struct {
	question
	columns    []column
	page, size int
}

// reporter answers the spend report for one account.
type reporter struct {
	world *world
	pages cache[pageKey, []byte]
	rows  sync.Pool
}

func newReporter(w *world) *reporter {
	p := &reporter{world: w, pages: newCache[pageKey](w.cfg.PrerenderBytes, func(b []byte) int64 {
		return int64(len(b)) + 1
	})}
	p.rows.New = func() any { return new([]row) }
	return p
}

// pageKey is what the bytes of a page depend on.
type pageKey struct {
	groupKey
	columns    string
	page, size int
	names      uint64 // the last change of anything that the report shows
}

// serveReport answers GET {report_url}/ads/spend-report for the accounts of a service.
func serveReport(accounts []*reporter, now time.Time, r *http.Request, f *Fault) reply {
	if r.Method != http.MethodGet {
		rep := reportError(http.StatusMethodNotAllowed, "Method not allowed")
		rep.header.Set("Allow", http.MethodGet)
		return rep
	}
	user, password, ok := r.BasicAuth()
	if !ok {
		return reportUnauthorized(textNoAuth)
	}
	for _, own := range accounts {
		if own.world.isUser(user, password) {
			st := own.world.stateAt(now)
			return own.report(&st, r, f)
		}
	}
	return reportUnauthorized(textWrongAuth)
}

// report answers the user of this account.
func (p *reporter) report(st *state, r *http.Request, f *Fault) reply {
	switch p.world.access.reportAccess() {
	case ReportUnconfirmed:
		return reportError(http.StatusForbidden, textUnconfirmed)
	case ReportNoAdvertiser:
		return reportError(http.StatusForbidden, textNoAdvertiser)
	}
	rq, text := parseReport(r.URL.Query(), st.today)
	if text != "" {
		return reportError(http.StatusBadRequest, text)
	}
	return jsonReply(http.StatusOK, p.page(st, rq, f))
}

// reportError returns the error body of the report.
func reportError(status int, text string) reply {
	return jsonReply(status, marshal(struct {
		Error string `json:"error"`
	}{text}))
}

func reportUnauthorized(text string) reply {
	rep := reportError(http.StatusUnauthorized, text)
	rep.header.Set("Www-Authenticate", `Basic realm="spend report"`)
	return rep
}

// parseReport takes the query parameters, or says what is wrong with them.
func parseReport(q url.Values, today day) (*reportRequest, string) {
	rq := &reportRequest{page: 1, size: defaultPageSize}
	start, end := q.Get("start_date"), q.Get("end_date")
	if start == "" || end == "" {
		return nil, textMissing
	}
	var ok1, ok2 bool
	rq.from, ok1 = parseDay(start)
	rq.to, ok2 = parseDay(end)
	switch {
	case !ok1 || !ok2:
		return nil, textDateFormat
	case rq.from > rq.to:
		return nil, textDateOrder
	case rq.from < today-reach:
		return nil, textTooFar
	}
	switch v := strings.ToLower(q.Get("include_creatives")); v {
	case "true", "1":
		rq.creatives = true
	case "", "false", "0":
	default:
		return nil, "Invalid include_creatives (expected true or false)"
	}
	var text string
	if rq.page, text = parsePositive(q, "page", 1, 1<<40); text != "" {
		return nil, text
	}
	if rq.size, text = parsePositive(q, "page_size", defaultPageSize, maxPageSize); text != "" {
		return nil, text
	}
	if rq.columns, text = parseColumns(q.Get("columns"), rq.creatives); text != "" {
		return nil, text
	}
	rq.campaign, rq.creative, rq.source = q.Get("campaign_id"), q.Get("creative_id"), q.Get("source_id")
	rq.byCampaign, rq.byCreative = rq.creatives, rq.creatives
	for _, c := range rq.columns {
		switch c {
		case colDate:
			rq.byDate = true
		case colCampaignID, colCampaignName:
			rq.byCampaign = true
		case colCreativeID:
			rq.byCreative = true
		case colSourceID:
			rq.bySource = true
		}
	}
	// A creative has one campaign, so the finest grain needs no more than it.
	rq.byCampaign = rq.byCampaign || rq.byCreative
	return rq, ""
}

func parseColumns(v string, creatives bool) ([]column, string) {
	if v == "" {
		if creatives {
			return creativeColumns, ""
		}
		return plainColumns, ""
	}
	var columns []column
	for name := range strings.SplitSeq(v, ",") {
		name = strings.TrimSpace(name)
		i := slices.Index(columnNames[:], name)
		switch {
		case i < 0:
			return nil, "Unknown column: " + name
		case slices.Contains(columns, column(i)):
			return nil, "Duplicate column: " + name
		case column(i).ofCreatives() && !creatives:
			return nil, "Column needs include_creatives=true: " + name
		}
		columns = append(columns, column(i))
	}
	return columns, ""
}

// page renders a page of the answer, or takes it from those that are kept.
func (p *reporter) page(st *state, rq *reportRequest, f *Fault) []byte {
	if !p.world.cfg.Prerender || f.changesRows() {
		return p.render(st, rq, f)
	}
	key := pageKey{st.groupKey(rq.question), string(columnBytes(rq.columns)), rq.page, rq.size, st.changes.last()}
	return p.pages.get(key, func() []byte { return p.render(st, rq, nil) })
}

func columnBytes(columns []column) []byte {
	b := make([]byte, len(columns))
	for i, c := range columns {
		b[i] = byte(c)
	}
	return b
}

// render writes the body of a page. A fault that changes rows has its say about
// which rows are on the page, about single rows, and about what stands around them.
func (p *reporter) render(st *state, rq *reportRequest, f *Fault) []byte {
	an := st.answer(rq.question)
	from, to, total := f.window(min(rq.page-1, an.total/rq.size+1)*rq.size, rq.size, an.total)
	buf := p.rows.Get().(*[]row)
	rows := hurtRows(f, an.appendRows((*buf)[:0], from, to), (*row).other)

	dst := make([]byte, 0, 512+len(rows)*(40+24*len(rq.columns)))
	dst = append(dst, `{"columns":`...)
	if v, ok := f.top("columns"); ok {
		dst = append(dst, v...)
	} else {
		for i, c := range rq.columns {
			dst = append(dst, ",["[btoi(i == 0)], '"')
			dst = append(dst, columnNames[c]...)
			dst = append(dst, '"')
		}
		dst = append(dst, ']')
	}
	dst = append(dst, `,"data":`...)
	if v, ok := f.top("data"); ok {
		dst = append(dst, v...)
	} else {
		w := newRowWriter(rq.columns, st)
		dst = append(dst, '[')
		for i := range rows {
			if i > 0 {
				dst = append(dst, ',')
			}
			if f.hitsRow(i) {
				dst = w.appendHurtRow(dst, &rows[i], f)
			} else {
				dst = w.appendRow(dst, &rows[i])
			}
		}
		dst = append(dst, ']')
	}
	*buf = rows[:0]
	p.rows.Put(buf)
	dst = appendPagination(dst, rq, total, f)
	dst = f.appendTop(dst)
	return append(dst, '}')
}

func appendPagination(dst []byte, rq *reportRequest, total int, f *Fault) []byte {
	if f.is(NoPagination) {
		return dst
	}
	dst = append(dst, `,"pagination":`...)
	if v, ok := f.top("pagination"); ok {
		return append(dst, v...)
	}
	for i, m := range [...]struct {
		name string
		v    int
	}{
		{"page", rq.page}, {"page_size", rq.size}, {"total_rows", total},
		{"total_pages", (total + rq.size - 1) / rq.size},
	} {
		dst = append(dst, ",{"[btoi(i == 0)])
		dst = append(append(append(dst, '"'), m.name...), '"', ':')
		if v, ok := f.top(m.name); ok {
			dst = append(dst, v...)
		} else {
			dst = strconv.AppendInt(dst, int64(m.v), 10)
		}
	}
	return append(dst, '}')
}
