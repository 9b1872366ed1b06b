package recorded

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // the days are Chicago's on every machine
)

// chicago is the zone of the report's days.
var chicago = func() *time.Location {
	zone, err := time.LoadLocation("America/Chicago")
	if err != nil {
		panic(err) // the binary has the zones
	}
	return zone
}()

// Handler serves a recording. It is safe for concurrent use.
type Handler struct {
	file     *File
	prefixes map[string]string // of the interfaces
	now      func() time.Time

	mu     sync.Mutex
	served map[string]int // replies of a request that were served
}

// New returns the handler of a recording. prefixes are the base paths of the interfaces.
func New(f *File, now func() time.Time, prefixes map[string]string) *Handler {
	return &Handler{file: f, prefixes: prefixes, now: now, served: map[string]int{}}
}

// ServeHTTP answers with a recorded reply.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for of, prefix := range h.prefixes {
		path, ok := strings.CutPrefix(r.URL.Path, prefix+"/")
		if !ok {
			continue
		}
		q := request{of: of, path: path, query: flat(r.URL.Query())}
		if body, e := h.answer(q); e != nil {
			h.send(w, e, body)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write([]byte(`{"error":{"code":"not_found","message":"nothing like it was recorded"}}`))
}

// send writes a reply.
func (h *Handler) send(w http.ResponseWriter, e *Exchange, body string) {
	if e.Status == 0 {
		panic(http.ErrAbortHandler) // closes the connection
	}
	w.Header()["Date"] = nil // none, unless one was recorded
	for name, value := range e.Header {
		if d, isRelative := strings.CutPrefix(value, "now+"); isRelative {
			seconds, _ := strconv.Atoi(d)
			value = h.now().Add(time.Duration(seconds) * time.Second).UTC().Format(time.RFC3339)
		}
		w.Header().Set(name, value)
	}
	if e.Ahead != nil {
		at := h.now().Add(time.Duration(*e.Ahead) * time.Second)
		w.Header().Set("Date", at.UTC().Format(http.TimeFormat))
	}
	out := []byte(body)
	if e.Header["Content-Encoding"] == "gzip" {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(out)
		_ = z.Close()
		out = b.Bytes()
	}
	w.WriteHeader(e.Status)
	_, _ = w.Write(out)
}

// request identifies a request to one of the interfaces.
type request struct {
	of, path string
	query    map[string]string
}

func flat(v url.Values) map[string]string {
	q := map[string]string{}
	for name := range v {
		q[name] = v.Get(name)
	}
	return q
}

// answer returns the reply to a request, and its body; nil: nothing like it was recorded. What is exactly alike comes
// first, then the same about another day, then the same about another entity, then both; a page that was not recorded
// is one behind the last.
func (h *Handler) answer(q request) (body string, e *Exchange) {
	today := h.now().In(chicago)
	shift := days(today.Format(time.DateOnly)) - days(h.file.Today)
	for _, like := range []likeness{
		{}, {day: true}, {id: true}, {day: true, id: true}, {day: true, page: true}, {day: true, id: true, page: true},
	} {
		var all []*Exchange
		for i := range h.file.Exchanges {
			if x := &h.file.Exchanges[i]; q.isLike(x, shift, like) {
				all = append(all, x)
			}
		}
		if len(all) == 0 {
			continue
		}
		first := all[0]
		if i := slices.IndexFunc(all, (*Exchange).isOK); i >= 0 {
			first = all[i] // an entity that was not there stands for no other one
		}
		all = h.alike(first, all)
		e = all[h.turn(q.of+" "+all[0].Path+" "+keyOf(q.query), len(all))]
		if body = q.fit(e, shift); like.page {
			body = emptied(body)
		}
		return body, e
	}
	return "", nil
}

func (e *Exchange) isOK() bool { return e.Status/100 == 2 }

// alike leaves out the replies to other requests than the first one.
func (h *Handler) alike(first *Exchange, all []*Exchange) (same []*Exchange) {
	for _, x := range all {
		if x.Path == first.Path && keyOf(x.Query) == keyOf(first.Query) {
			same = append(same, x)
		}
	}
	return same
}

// turn returns which reply of several to a request comes now; the last one stays.
func (h *Handler) turn(key string, n int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := min(h.served[key], n-1)
	h.served[key]++
	return i
}

func keyOf(query map[string]string) string {
	v := url.Values{}
	for name, value := range query {
		v.Set(name, value)
	}
	return v.Encode()
}

var (
	dayForm = regexp.MustCompile(`\b[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}`)
	number  = regexp.MustCompile(`^[0-9]+$`)
	isID    = regexp.MustCompile(`[0-9]`)
	rows    = regexp.MustCompile(`("total_?[a-zA-Z]*"\s*:\s*"?)([0-9]+)`)
)

func days(text string) int {
	t, err := time.Parse(time.DateOnly, strings.ReplaceAll(text, "/", "-"))
	if err != nil {
		return 0
	}
	return int(t.Unix() / (24 * 60 * 60))
}

// likeness is in what a request may differ from the recorded one.
type likeness struct{ day, id, page bool }

// isLike reports whether an exchange answers a request.
func (q request) isLike(x *Exchange, shift int, any likeness) bool {
	if q.of != x.Of || len(q.query) != len(x.Query) {
		return false
	}
	if q.path != x.Path && (!any.id || !sameRoute(q.path, x.Path)) {
		return false
	}
	for name, want := range q.query {
		was, ok := x.Query[name]
		if !ok {
			return false
		}
		if dayForm.MatchString(want) && dayForm.MatchString(was) {
			if !any.day && days(want) != days(was)+shift {
				return false
			}
			continue
		}
		if any.page && number.MatchString(want) && number.MatchString(was) {
			continue
		}
		if want != was && (!any.id || !isID.MatchString(was) || !strings.HasSuffix(name, "_id")) {
			return false
		}
	}
	return true
}

// sameRoute reports whether two paths differ in IDs alone.
func sameRoute(a, b string) bool {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] != y[i] && (!isID.MatchString(x[i]) || !isID.MatchString(y[i])) {
			return false
		}
	}
	return true
}

// fit returns the body of an exchange for a request: under its IDs and on its days.
func (q request) fit(x *Exchange, shift int) string {
	body := string(x.Body)
	mine, its := strings.Split(q.path, "/"), strings.Split(x.Path, "/")
	for i := range its {
		if its[i] != mine[i] {
			body = strings.ReplaceAll(body, its[i], mine[i])
		}
	}
	from, to, isRange := span(x.Query)
	if !isRange {
		return body
	}
	first, last, _ := span(q.query)
	move := func(text string, by int) string {
		return dayForm.ReplaceAllStringFunc(text, func(day string) string {
			if n := days(day); n < from || n > to {
				return day
			}
			moved := time.Unix(int64(days(day)+by)*24*60*60, 0).UTC().Format(time.DateOnly)
			return strings.ReplaceAll(moved, "-", day[4:5])
		})
	}
	if from == to && last > first {
		return repeat(body, last-first+1, func(text string, by int) string { return move(text, first-from+by) })
	}
	return move(body, first-from)
}

// span returns the days that a request of the report is about.
func span(query map[string]string) (from, to int, ok bool) {
	for _, value := range query {
		if dayForm.MatchString(value) {
			n := days(value)
			if !ok {
				from, to = n, n
			}
			from, to, ok = min(from, n), max(to, n), true
		}
	}
	return from, to, ok
}

// emptied returns the page after the last one of a list: the same reply without entries.
func emptied(body string) string {
	for i := range len(body) {
		if body[i] != '[' {
			continue
		}
		inner := strings.TrimLeft(body[i+1:], " \t\r\n")
		if strings.HasPrefix(inner, "{") || strings.HasPrefix(inner, "[") {
			return body[:i] + "[]" + body[i+max(1, closing(body[i:])):]
		}
	}
	return body
}

// repeat makes rows of one day rows of several days: each element of a list that names a day comes once for each.
func repeat(body string, n int, move func(text string, by int) string) string {
	at := dayForm.FindStringIndex(body)
	if at == nil {
		return body
	}
	begin := strings.LastIndexAny(body[:at[0]], "{[")
	end := begin + closing(body[begin:])
	if begin < 0 || end <= begin {
		return body
	}
	// The elements that follow are of the same list.
	count := 1
	for rest := strings.TrimLeft(body[end:], ", \n\t\r"); strings.HasPrefix(rest, body[begin:begin+1]); count++ {
		start := len(body) - len(rest)
		if next := closing(rest); next > 0 {
			end = start + next
		} else {
			break
		}
		rest = strings.TrimLeft(body[end:], ", \n\t\r")
	}
	var all []string
	for i := range n {
		all = append(all, move(body[begin:end], i))
	}
	tail := rows.ReplaceAllStringFunc(body[end:], func(text string) string {
		m := rows.FindStringSubmatch(text)
		if stated, _ := strconv.Atoi(m[2]); stated == count && !strings.Contains(m[1], "pages") {
			return m[1] + strconv.Itoa(count*n)
		}
		return text
	})
	return body[:begin] + strings.Join(all, ",") + tail
}

// closing returns the length of the value at the start of a text; 0: the value does not end.
func closing(text string) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}
