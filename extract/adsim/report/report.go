package report

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/tree"
	"spendsync/extract/adsim/wire"
	"spendsync/extract/adsim/world"
)

const (
	DefaultPageSize = 1000
	maxPageSize     = 10000
)

// The error messages that the description of the service lists.
const (
	textMissing     = "Missing required parameters: start_date, end_date"
	textDateFormat  = "Invalid date format (expected YYYY-MM-DD)"
	textDateOrder   = "start_date must be <= end_date"
	TextTooFar      = "start_date cannot be more than 32 days before today"
	textNoAuth      = "Authentication required. Use Basic Auth or Bearer the service."
	TextWrongAuth   = "Incorrect username or password"
	TextUnconfirmed = "User account not confirmed. Please check your email."
	TextInternal    = "Internal server error"
)

// reportRequest contains the parsed parameters of a request.
type reportRequest struct {
	ledger.Query
	columns    []*column
	Page, size int
}

// View replaces the rows of a result, and the number that total_rows states, before the result is cut into pages. A
// View must not modify the rows that it gets.
type View func(rows []ledger.Row) (shown []ledger.Row, total int)

// Serve answers GET {report_url}/ads/spend-report for the accounts of a service. Serve applies the views in the order
// of the list.
func Serve(accounts []*world.World, now time.Time, r *http.Request, views []View, f *wire.Fault) wire.Reply {
	if r.Method != http.MethodGet {
		rep := Error(http.StatusMethodNotAllowed, "Method not allowed")
		rep.Header.Set("Allow", http.MethodGet)
		return rep
	}
	user, password, ok := r.BasicAuth()
	if !ok {
		return reportUnauthorized(textNoAuth)
	}
	for _, account := range accounts {
		if account.IsUser(user, password) {
			rq, text := parseReport(r.URL.Query(), clock.DayOf(now, account.Zone))
			if text != "" {
				return Error(http.StatusBadRequest, text)
			}
			st := account.StateAt(now)
			return wire.JSONReply(http.StatusOK, render(&st, rq, views, f))
		}
	}
	return reportUnauthorized(TextWrongAuth)
}

// Error returns an error reply of the report.
func Error(status int, text string) wire.Reply {
	return wire.JSONReply(status, tree.Marshal(struct {
		Error string `json:"error"`
	}{text}))
}

func reportUnauthorized(text string) wire.Reply {
	rep := Error(http.StatusUnauthorized, text)
	rep.Header.Set("Www-Authenticate", `Basic realm="spend report"`)
	return rep
}

// parseReport parses the query parameters of a report request. If they are invalid, it returns the error text of the
// refusal.
func parseReport(q url.Values, today clock.Day) (*reportRequest, string) {
	rq := &reportRequest{Page: 1, size: DefaultPageSize}
	var text string
	if rq.From, rq.To, text = parseDays(q, today); text != "" {
		return nil, text
	}
	switch v := strings.ToLower(q.Get("include_creatives")); v {
	case "true", "1":
		rq.Creatives = true
	case "", "false", "0":
	default:
		return nil, "Invalid include_creatives (expected true or false)"
	}
	if rq.Page, text = wire.ParsePositive(q, "page", 1, 1<<40); text != "" {
		return nil, text
	}
	if rq.size, text = wire.ParsePositive(q, "page_size", DefaultPageSize, maxPageSize); text != "" {
		return nil, text
	}
	if rq.columns, text = parseColumns(q.Get("columns"), rq.Creatives); text != "" {
		return nil, text
	}
	rq.Campaign, rq.Creative = q.Get("campaign_id"), q.Get("creative_id")
	has := func(name string) bool {
		return slices.ContainsFunc(rq.columns, func(c *column) bool { return c.name == name })
	}
	rq.ByDate, rq.BySource = has("date"), has("source_id")
	rq.ByCreative = rq.Creatives || has("creative_id")
	// Grouping by creative implies grouping by campaign, because a creative belongs to one campaign.
	rq.ByCampaign = rq.ByCreative || has("campaign_id") || has("campaign_name")
	return rq, ""
}

// parseDays parses start_date and end_date. If they are invalid, it returns the error text of the refusal.
func parseDays(q url.Values, today clock.Day) (from, to clock.Day, refusal string) {
	start, end := q.Get("start_date"), q.Get("end_date")
	from, ok1 := clock.ParseDay(start)
	to, ok2 := clock.ParseDay(end)
	switch {
	case start == "" || end == "":
		return 0, 0, textMissing
	case !ok1 || !ok2:
		return 0, 0, textDateFormat
	case from > to:
		return 0, 0, textDateOrder
	case from < today-clock.Reach:
		return 0, 0, TextTooFar
	}
	return from, to, ""
}

func parseColumns(v string, creatives bool) (list []*column, text string) {
	switch {
	case v == "" && creatives:
		v = creativeColumns
	case v == "":
		v = plainColumns
	}
	for name := range strings.SplitSeq(v, ",") {
		name = strings.TrimSpace(name)
		i := slices.IndexFunc(columns, func(c column) bool { return c.name == name })
		switch {
		case i < 0:
			return nil, "Unknown column: " + name
		case slices.Contains(list, &columns[i]):
			return nil, "Duplicate column: " + name
		case columns[i].ofCreatives && !creatives:
			return nil, "Column needs include_creatives=true: " + name
		}
		list = append(list, &columns[i])
	}
	return list, ""
}

// render returns the body of a page. A fault may shift the beginning of the page.
func render(st *ledger.State, rq *reportRequest, views []View, f *wire.Fault) []byte {
	all := st.Result(rq.Query)
	total := len(all)
	for _, view := range views {
		all, total = view(all)
	}
	from := f.From(min(rq.Page-1, len(all)/rq.size+1) * rq.size)
	rows := all[min(from, len(all)):min(from+rq.size, len(all))]

	dst := make([]byte, 0, 512+len(rows)*(40+24*len(rq.columns)))
	dst = append(dst, `{"columns":[`...)
	for i, c := range rq.columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), c.name...), '"')
	}
	dst = append(dst, `],"data":[`...)
	w := &rowWriter{columns: rq.columns, st: st, quoted: map[string][]byte{}}
	for i := range rows {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = w.appendRow(dst, &rows[i])
	}
	return fmt.Appendf(dst, `],"pagination":{"page":%d,"page_size":%d,"total_rows":%d,"total_pages":%d}}`, rq.Page,
		rq.size, total, (total+rq.size-1)/rq.size)
}
