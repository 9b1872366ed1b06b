// Package record writes down the shape of a service's replies, for a file that can be sent to others: for each kind of
// request the status, the paths of keys, and of each value its type, its length and its form. A form has A for upper
// and a for lower case letters, 9 for digits, x for other characters, and punctuation as it came. No value, and no key
// or name that could be one, leaves the process. It opens no file and sends nothing by itself.
package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"spendsync/cmd/internal/config"
	"spendsync/extract"
	"spendsync/extract/outbound"
)

const (
	mostBytes = 64 << 20 // of a body that is looked at
	mostForms = 6        // of the values at one path
	mostForm  = 40       // characters of a text that has a form; of a longer one only the length is told
)

// Recorder holds the shapes of the replies that pass through it.
type Recorder struct {
	mu    sync.Mutex
	kinds map[string]*kind
	order []string
	count int
	hide  map[string]bool // credentials, which a service may repeat as a key
}

// kind is the replies to requests that differ in nothing but their values.
type kind struct {
	of, path string
	status   int
	replies  int
	values   map[string]*values
}

// values is what came at one path.
type values struct {
	count, least, most int
	forms              map[string]bool
}

// New returns an empty recorder.
func New() *Recorder { return &Recorder{kinds: map[string]*kind{}, hide: map[string]bool{}} }

// Clients returns clients of both interfaces whose replies are looked at.
func (r *Recorder) Clients(c *config.Config, o config.ClientOptions) (report, api *extract.Client, err error) {
	next := o.Transport
	if next == nil {
		next = outbound.New(outbound.Options{HeaderTimeout: c.HTTPTimeout})
	}
	o.Transport = through{r, next, "report", pathOf(c.ReportURL)}
	if report, err = c.ReportClient(o); err != nil {
		return nil, nil, err
	}
	o.Transport = through{r, next, "api", pathOf(c.AdvertiserURL)}
	api, err = c.AdvertiserClient(o)
	return report, api, err
}

func pathOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(u.Path, "/")
}

// Len returns how many replies were looked at.
func (r *Recorder) Len() int { r.mu.Lock(); defer r.mu.Unlock(); return r.count }

// Envelope lists the keys of the replies to a path that starts with the given text.
func (r *Recorder) Envelope(of, path string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range r.order {
		k := r.kinds[key]
		if k.of != of || !strings.HasPrefix(k.path, path) || k.status/100 != 2 {
			continue
		}
		if root := k.values[""]; root == nil || root.forms["list"] {
			return "a list"
		}
		var keys []string
		for _, path := range slices.Sorted(maps.Keys(k.values)) {
			if path != "" && !strings.ContainsAny(path, ".[ ") {
				forms := k.values[path].forms
				keys = append(keys,
					path+map[bool]string{true: "[]"}[forms["list"]]+map[bool]string{true: "{}"}[forms["object"]])
			}
		}
		return strings.Join(keys, ", ")
	}
	return ""
}

type through struct {
	r          *Recorder
	next       http.RoundTripper
	of, prefix string
}

// RoundTrip sends a request. It reads the body of the reply to the end before it returns.
func (t through) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return resp, err
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, mostBytes))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), resp.Body), resp.Body} // an error of reading comes again
	_, password, _ := req.BasicAuth()
	_, key, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	t.r.hide[password], t.r.hide[key] = true, true
	t.r.take(t.of, strings.TrimPrefix(strings.TrimPrefix(req.URL.Path, t.prefix), "/"), req.URL.Query(), resp, body)
	return resp, nil
}

// take adds a reply. The caller holds the lock.
func (r *Recorder) take(of, path string, query url.Values, resp *http.Response, body []byte) {
	var parts, names []string
	for part := range strings.SplitSeq(path, "/") {
		parts = append(parts, r.name(part))
	}
	for _, key := range slices.Sorted(maps.Keys(query)) {
		names = append(names, r.name(key))
	}
	key := fmt.Sprintf("%s %s?%s %d", of, strings.Join(parts, "/"), strings.Join(names, "&"), resp.StatusCode)
	k := r.kinds[key]
	if k == nil {
		k = &kind{of: of, path: path, status: resp.StatusCode, values: map[string]*values{}}
		r.kinds[key], r.order = k, append(r.order, key)
	}
	r.count++
	k.replies++
	for _, header := range slices.Sorted(maps.Keys(resp.Header)) {
		k.add(r.name("header "+header), form(resp.Header.Get(header)), len(resp.Header.Get(header)))
	}
	k.body(r, body)
}

// body adds the values of a body of JSON. What is broken or follows it is told as that.
func (k *kind) body(r *Recorder, body []byte) {
	plain, found := bytes.CutPrefix(body, []byte("\ufeff"))
	if found {
		k.add("(byte order mark)", "yes", 3)
	}
	d := json.NewDecoder(bytes.NewReader(plain))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		k.add("(no JSON)", "text", len(body))
		return
	}
	k.value(r, v, "")
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		k.add("(more behind the JSON)", "text", len(body))
	}
}

// value adds one value and what is in it.
func (k *kind) value(r *Recorder, v any, path string) {
	switch v := v.(type) {
	case map[string]any:
		k.add(path, "object", len(v))
		for key, inner := range v {
			k.value(r, inner, strings.TrimPrefix(path+"."+r.name(key), "."))
		}
	case []any:
		k.add(path, "list", len(v))
		for _, inner := range v {
			k.value(r, inner, path+"[]")
		}
	case string:
		k.add(path, "text "+form(v), utf8.RuneCountInString(v))
	case json.Number:
		k.add(path, "number "+form(v.String()), len(v))
	case bool:
		k.add(path, "true or false", 1)
	default:
		k.add(path, "null", 0)
	}
}

// add notes a value.
func (k *kind) add(path, form string, length int) {
	v := k.values[path]
	if v == nil {
		v = &values{least: length, most: length, forms: map[string]bool{}}
		k.values[path] = v
	}
	v.count, v.least, v.most = v.count+1, min(v.least, length), max(v.most, length)
	if len(v.forms) < mostForms {
		v.forms[form] = true
	}
}

// plainName is a word that a program has, not a person: no digits, no blanks, and no capital at its front.
var plainName = regexp.MustCompile(`^([a-z_]+([A-Z][a-z]*)*|v[0-9]|openapi\.json|header [A-Z][a-z]*(-[A-Z][a-z]*)*)$`)

// name is a key, a header or a part of a path, or its form if it could be a value.
func (r *Recorder) name(text string) string {
	secret := false
	for s := range r.hide {
		secret = secret || s != "" && strings.Contains(text, s)
	}
	if len(text) <= mostForm && plainName.MatchString(text) && !secret {
		return text
	}
	return "<" + form(text) + ">"
}

// form replaces each letter and digit of a short text.
func form(text string) string {
	if utf8.RuneCountInString(text) > mostForm {
		return "long"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return 'A'
		case r >= 'a' && r <= 'z':
			return 'a'
		case r >= '0' && r <= '9':
			return '9'
		case r > '~' || r < ' ':
			return 'x'
		}
		return r
	}, text)
}

// Shapes returns the text of a file: a heading for each kind of request, and a line for each path of its replies.
func (r *Recorder) Shapes(by string) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out bytes.Buffer
	fmt.Fprintf(&out, "Shapes of the replies of a service, by %s. A, a, 9, x: letters, digits, others.\n", by)
	for _, key := range r.order {
		k := r.kinds[key]
		fmt.Fprintf(&out, "\n%s: replies %d\n", key, k.replies)
		for _, path := range slices.Sorted(maps.Keys(k.values)) {
			v := k.values[path]
			length := fmt.Sprint(v.least)
			if v.most > v.least {
				length += ".." + fmt.Sprint(v.most)
			}
			fmt.Fprintf(&out, "  %-40s %dx, length %s: %s\n", path, v.count, length,
				strings.Join(slices.Sorted(maps.Keys(v.forms)), " | "))
		}
	}
	return out.Bytes()
}
