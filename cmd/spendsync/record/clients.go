package record

import (
	"slices"
	"strings"

	"spendsync/cmd/internal/config"
	"spendsync/extract"
	"spendsync/extract/adsim/recorded"
	"spendsync/extract/outbound"
)

// Clients returns clients of both interfaces whose replies are kept.
func (r *Recorder) Clients(c *config.Config, o config.ClientOptions) (report, api *extract.Client, err error) {
	next := o.Transport
	if next == nil {
		next = outbound.New(outbound.Options{HeaderTimeout: c.HTTPTimeout})
	}
	o.Transport = r.Through(next, recorded.Report, c.ReportURL)
	if report, err = c.ReportClient(o); err != nil {
		return nil, nil, err
	}
	o.Transport = r.Through(next, recorded.API, c.AdvertiserURL)
	api, err = c.AdvertiserClient(o)
	return report, api, err
}

// Len returns how many replies are kept, and whether there were more.
func (r *Recorder) Len() (replies int, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.taken), r.full
}

// Envelope describes the objects of the replies of an interface by their keys: those of the first reply to a path
// that starts with the given text.
func (r *Recorder) Envelope(of, path string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.taken {
		if x.of != of || !strings.HasPrefix(x.path, path) || x.status/100 != 2 {
			continue
		}
		var keys []string
		body := string(x.body)
		tokens := scan(body)
		for i, t := range tokens {
			if !t.isKey || strings.TrimLeft(body[:t.row[0]], " \t\r\n\ufeff") != "" {
				continue
			}
			name := body[t.from:t.to]
			if rest := strings.TrimLeft(body[t.to+1:], " \t\r\n:"); strings.HasPrefix(rest, "[") {
				name += "[]"
			} else if strings.HasPrefix(rest, "{") {
				name += "{}"
			}
			if keys = append(keys, name); i > 0 && len(keys) > 12 {
				return strings.Join(keys[:12], ", ") + ", ..."
			}
		}
		if len(keys) == 0 {
			return "a list"
		}
		return strings.Join(slices.Compact(keys), ", ")
	}
	return ""
}
