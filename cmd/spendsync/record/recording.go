package record

import (
	"encoding/json"
	"math/big"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"spendsync/extract/adsim/recorded"
	"spendsync/extract/service"
	"spendsync/schema"
)

// Recording returns the recording, with all values replaced, as the text of a file.
func (r *Recorder) Recording(s *service.Service, by string) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s == nil {
		s = service.Default()
	}
	w := &writer{masks: newMasks(s), service: s, now: r.now(), pages: map[string]bool{}, amounts: map[spot]string{}}
	for _, key := range []string{"total", "more", "paging.limit", "paging.offset", "paging.page", "report_reply.page",
		"report_reply.page_size", "report_reply.total_rows", "report_reply.total_pages"} {
		for _, name := range s.Names(key) {
			w.pages[name] = true
		}
	}
	for _, name := range []string{"next_offset", "next_page", "limit", "per_page", "status_code"} {
		w.pages[name] = true
	}
	w.addUp(r.taken)
	file := recorded.File{Version: recorded.Version, By: by, Today: schema.DateOf(w.now).String()}
	for i, x := range r.taken {
		file.Exchanges = append(file.Exchanges, w.exchange(i, x))
	}
	slices.SortStableFunc(file.Exchanges, func(a, b recorded.Exchange) int {
		return strings.Compare(a.Of+" "+a.Path, b.Of+" "+b.Path)
	})
	text, err := json.MarshalIndent(file, "", " ")
	return append(text, '\n'), err
}

// spot is the place of a literal: the reply, and the offset of its first byte.
type spot struct{ reply, from int }

// writer replaces the values of one recording.
type writer struct {
	*masks
	service *service.Service
	now     time.Time
	pages   map[string]bool // keys of page numbers
	amounts map[spot]string // of the report, with their replacements
}

// exchange replaces the values of a request and its reply.
func (w *writer) exchange(i int, x taken) recorded.Exchange {
	e := recorded.Exchange{Of: x.of, Status: x.status, Ahead: x.ahead, Query: map[string]string{},
		Header: map[string]string{}}
	var path []string
	for part := range strings.SplitSeq(x.path, "/") {
		path = append(path, w.word(part))
	}
	e.Path = strings.Join(path, "/")
	for name := range x.query {
		e.Query[w.word(name)] = w.parameter(name, x.query.Get(name))
	}
	for name := range x.header {
		if value, ok := w.header(name, x.header.Get(name)); ok {
			e.Header[name] = value
		}
	}
	e.Body = recorded.Text(w.body(i, x))
	return e
}

// word replaces a part of a path, or a name.
func (w *writer) word(text string) string {
	if versionForm.MatchString(text) {
		return text
	}
	return w.text(text)
}

var versionForm = regexp.MustCompile(`^v[0-9]$|^openapi\.json$`)

// parameter replaces the value of a parameter. Days, page numbers and known names are kept.
func (w *writer) parameter(name, value string) string {
	switch _, err := strconv.Atoi(value); {
	case err == nil && w.isPage(service.SnakeCase(name)), timeForm.MatchString(value):
		return value
	}
	var parts []string
	for part := range strings.SplitSeq(value, ",") {
		parts = append(parts, w.text(part))
	}
	return strings.Join(parts, ",")
}

func (w *writer) isPage(key string) bool { return w.pages[key] }

// headers that are kept, in addition to those that hold a count.
var (
	keptHeaders  = []string{"Content-Type", "Content-Encoding", "Retry-After", "Deprecation", "Sunset", "Link"}
	expiryHeader = regexp.MustCompile(`(?i)-expires-at$`)
	countHeader  = regexp.MustCompile(`(?i)(^|-)(total|count|total-count)$`)
	mediaForm    = regexp.MustCompile(`^(application/(json|problem\+json|vnd\.api\+json)|text/(plain|html))` +
		`(; ?charset=[a-z0-9-]+)?$`)
)

// header replaces the value of a header; the others are left out.
func (w *writer) header(name, value string) (string, bool) {
	_, notNumber := strconv.Atoi(value)
	switch {
	case expiryHeader.MatchString(name):
		at, err := time.Parse(time.RFC3339, value)
		if err != nil {
			return w.text(value), true
		}
		// All that matters is whether the key has expired, or is about to.
		ends := 90 * 24 * time.Hour
		switch left := at.Sub(w.now); {
		case left <= 0:
			ends = -24 * time.Hour
		case left < 14*24*time.Hour:
			ends = 7 * 24 * time.Hour
		}
		return "now+" + strconv.Itoa(int(ends/time.Second)), true
	case strings.HasSuffix(strings.ToLower(name), "-expiry-warning"):
		return w.text(value), true
	case countHeader.MatchString(name) && notNumber == nil:
		return value, true
	case !slices.Contains(keptHeaders, http.CanonicalHeaderKey(name)):
		return "", false
	case name == "Content-Type" && mediaForm.MatchString(value), name == "Content-Encoding" && value == "gzip",
		name == "Retry-After" && notNumber == nil:
		return value, true
	}
	return w.text(value), true
}

// body replaces the literals of a body.
func (w *writer) body(i int, x taken) string {
	body := string(x.body)
	if t := strings.TrimLeft(strings.TrimPrefix(body, "\ufeff"), " \t\r\n"); !strings.HasPrefix(t, "{") &&
		!strings.HasPrefix(t, "[") {
		if t == "null" {
			return body
		}
		return w.text(body)
	}
	var out strings.Builder
	at := 0
	for _, t := range scan(body) {
		out.WriteString(body[at:t.from])
		out.WriteString(w.literal(spot{i, t.from}, t, body[t.from:t.to], x.of == recorded.Report))
		at = t.to
	}
	out.WriteString(body[at:])
	return out.String()
}

// bare are literals without quotes that are not numbers.
var bare = []string{"null", "true", "false", "NaN", "Infinity", "-Infinity", "\ufeff"}

// literal replaces one literal.
func (w *writer) literal(at spot, t token, text string, ofReport bool) string {
	if amount, ok := w.amounts[at]; ok {
		return amount
	}
	_, notNumber := strconv.Atoi(text)
	switch {
	case t.isKey:
		return w.name(text)
	case slices.Contains(bare, text), w.isPage(t.key) && notNumber == nil:
		return text
	case ofReport && timeForm.MatchString(text):
		return text // the requested day, which is today or yesterday
	case notNumber == nil && isTime(t.key) && len(text) >= 10 && len(text) <= 13:
		seconds, _ := strconv.ParseInt(text, 10, 64)
		by := int64(w.weeks) * 7 * 24 * 60 * 60
		if len(text) == 13 {
			by *= 1000
		}
		return strconv.FormatInt(seconds-by, 10)
	}
	return w.text(text)
}

// name replaces the name of a value, but for the words in it that names of the service consist of: campaigns_used.
func (w *writer) name(text string) string {
	if w.isKnown(text) || !strings.Contains(text, "_") {
		return w.text(text)
	}
	var parts []string
	for part := range strings.SplitSeq(text, "_") {
		if len(part) < 4 || !w.isKnown(part) {
			part = w.text(part)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "_")
}

func isTime(key string) bool {
	return strings.HasSuffix(key, "date") || strings.HasSuffix(key, "_at") || strings.HasSuffix(key, "time")
}

// cell is a number in a row of the report.
type cell struct {
	at     spot
	column string
	is     amount
	to     *big.Rat // the replacement
}

// row is a row of the report, or of its sums.
type row struct {
	text     string
	campaign string // in its original spelling
	cells    []cell
}

// measures are the columns of the report that add up.
var measures = []string{"total_spend", "clicks", "impressions", "conversions"}

// addUp replaces the amounts of the report: an amount in a row by one of the same form, and the service's own sums by
// the sums of the new rows, off by as much as before.
func (w *writer) addUp(all []taken) {
	var days, sums []row
	seen := map[string]bool{}
	for i, x := range all {
		if x.of != recorded.Report || x.status/100 != 2 {
			continue
		}
		query := func(key string) string { return x.query.Get(w.service.Text(key)) }
		rows := w.rowsOf(i, x)
		isDay := strings.Contains(query("report_query.columns"), w.service.Text("report.source_id"))
		for j := range rows {
			for k := range rows[j].cells {
				c := &rows[j].cells[k]
				literal := string(x.body[c.at.from : c.at.from+len(w.amounts[c.at])])
				masked := w.measure(rows[j].text, c.column, literal)
				w.amounts[c.at] = masked
				if to, ok := parseAmount(masked); ok {
					c.to = to.value
				}
			}
		}
		switch first := !seen[x.query.Encode()]; {
		case isDay && first:
			days = append(days, rows...)
		case query("report_query.include_creatives") == "":
			sums = append(sums, rows...)
		}
		seen[x.query.Encode()] = true
	}
	w.keepFractions(all, days)
	for _, total := range sums {
		for _, c := range total.cells {
			was, is := new(big.Rat), new(big.Rat)
			for _, r := range days {
				if total.campaign != "" && total.campaign != r.campaign {
					continue
				}
				for _, d := range r.cells {
					if d.column == c.column && d.to != nil {
						was.Add(was, d.is.value)
						is.Add(is, d.to)
					}
				}
			}
			is.Add(is, c.is.value)
			w.amounts[c.at] = c.is.like(is.Sub(is, was))
		}
	}
}

// keepFractions adds a part of a dollar to one row of the report, so that the new rows have the same cents and
// millionths in all as the old ones: a rounded sum stays rounded.
func (w *writer) keepFractions(all []taken, days []row) {
	times := map[string]int{}
	off := new(big.Rat)
	for _, r := range days {
		times[r.text]++
		for _, c := range r.cells {
			if c.column == measures[0] && c.to != nil {
				off.Add(off, c.is.value)
				off.Sub(off, c.to)
			}
		}
	}
	whole := new(big.Int).Div(off.Num(), off.Denom()) // rounded down
	off.Sub(off, new(big.Rat).SetInt(whole))
	var best *cell
	text := ""
	for i := range days {
		for j := range days[i].cells {
			c := &days[i].cells[j]
			if c.column == measures[0] && c.to != nil && c.is.value.Sign() > 0 && times[days[i].text] == 1 &&
				(best == nil || c.is.decimals > best.is.decimals) {
				best, text = c, days[i].text
			}
		}
	}
	if best == nil || off.Sign() == 0 {
		return
	}
	best.to = new(big.Rat).Add(best.to, off)
	w.amounts[best.at] = best.is.like(best.to)
	for i, x := range all { // the same row in another reply to the same question
		if x.of != recorded.Report {
			continue
		}
		for _, r := range w.rowsOf(i, x) {
			for _, c := range r.cells {
				if r.text == text && c.column == best.column {
					w.amounts[c.at] = w.amounts[best.at]
				}
			}
		}
	}
}

// rowsOf finds the rows with amounts in a reply of the report. It notes the original amount if there is no
// replacement yet.
func (w *writer) rowsOf(i int, x taken) (rows []row) {
	body := string(x.body)
	tokens := scan(body)
	var columns []string
	for _, t := range tokens {
		if t.key == w.service.Text("report_reply.columns") && t.text && !t.isKey {
			columns = append(columns, service.SnakeCase(body[t.from:t.to]))
		}
	}
	index := map[[2]int]int{}
	for _, t := range tokens {
		if t.isKey {
			continue
		}
		name := t.key
		if t.index >= 0 {
			if name = ""; t.index < len(columns) {
				name = columns[t.index]
			}
		}
		column, _ := w.service.Column(name)
		n, ok := index[t.row]
		if !ok {
			n = len(rows)
			index[t.row] = n
			rows = append(rows, row{text: body[t.row[0]:t.row[1]]})
		}
		literal := body[t.from:t.to]
		if column == "campaign_id" {
			rows[n].campaign = literal
		}
		if a, ok := parseAmount(literal); ok && slices.Contains(measures, column) {
			at := spot{i, t.from}
			if _, ok := w.amounts[at]; !ok {
				w.amounts[at] = literal
			}
			rows[n].cells = append(rows[n].cells, cell{at: at, column: column, is: a})
		}
	}
	return slices.DeleteFunc(rows, func(r row) bool { return len(r.cells) == 0 })
}
