package job

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema/schematest"
)

// TestJudge_MissingKeys: if no reply has a null, a key that is missing twice unsets its value. If the service writes
// nulls, or a new key has appeared, a missing key never unsets the value, and the run reports it with exit 4. A missing
// audience never unsets anything.
func TestJudge_MissingKeys(t *testing.T) {
	nulls := regexp.MustCompile(`"(target_cpa|end_date)":null,?`)
	for name, c := range map[string]struct {
		omitsNulls bool
		key        string // the missing key
		renamed    string
		codes      []int
		stands     bool
	}{
		"nulls are left out":      {omitsNulls: true, key: "target_cpa", codes: []int{0, 0, 0}},
		"nulls are left out, end": {omitsNulls: true, key: "end_date", codes: []int{0, 0, 0}},
		"renamed": {omitsNulls: true, key: "target_cpa", renamed: "cpa", codes: []int{4, 4, 4},
			stands: true},
		"beside nulls":                 {key: "target_cpa", codes: []int{4, 4, 4}, stands: true},
		"beside nulls, end":            {key: "end_date", codes: []int{4, 4, 4}, stands: true},
		"the audience":                 {key: "audience", codes: []int{4, 4, 4}, stands: true},
		"the audience, nulls left out": {omitsNulls: true, key: "audience", codes: []int{4, 4, 4}, stands: true},
	} {
		if !schematest.Drawn(name, 4) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			e := &rewriter{of: w.service.Transport()}
			w.transport = e
			id, other := w.service.CampaignIDs()[0], w.service.CampaignIDs()[1]
			w.change(adsim.Change{Campaign: other, Set: map[string]any{"status": "active"}})
			w.change(adsim.Change{Campaign: id, Set: map[string]any{"status": "active", "target_cpa": "25",
				"end_date": "2027-03-01T00:00:00Z"}})
			missing := false
			e.edit = func(path, body string) (int, string) {
				if c.omitsNulls {
					body = strings.ReplaceAll(nulls.ReplaceAllString(body, ""), ",}", "}")
				}
				if !c.omitsNulls && path == "campaigns/"+other {
					member := regexp.MustCompile(`"(target_cpa|end_date)":("[^"]*"|[0-9.]+|null),?`)
					body = member.ReplaceAllString(body, "")
					body = strings.Replace(body, `"name":`, `"target_cpa":null,"end_date":null,"name":`, 1)
					body = strings.ReplaceAll(body, ",}", "}")
				}
				if missing && path == "campaigns/"+id {
					body = regexp.MustCompile(`"`+c.key+`":("[^"]*"|[0-9.]+|\{[^}]*\}),?`).ReplaceAllStringFunc(body,
						func(member string) string {
							if c.renamed == "" {
								return ""
							}
							return strings.Replace(member, c.key, c.renamed, 1)
						})
					body = strings.ReplaceAll(body, ",}", "}")
				}
				return 0, body
			}
			const ask = "SELECT target_cpa, end_at IS NOT NULL, country FROM campaign_history " +
				"WHERE is_current AND campaign_id = '%s'"
			w.sync(exit.OK)
			was, versions := w.ask(ask, id), w.ask("SELECT count(*) FROM campaign_history")
			missing = true
			for i, code := range c.codes {
				w.service.Advance(time.Hour)
				r := w.sync(code)
				said := strings.Contains(r.Run.Message.V, "unread field")
				if stands := c.stands || i == 0; stands != (w.ask(ask, id) == was) || stands != said {
					t.Errorf("run %d: stored %s, before %s: %s", i+1, w.ask(ask, id), was, r.Run.Message.V)
				}
				if since := strings.Contains(r.Run.Message.V, "), since 20"); since != (said && i > 0) {
					t.Errorf("run %d: since when is %t in %s", i+1, since, r.Run.Message.V)
				}
				if got := w.ask("SELECT count(*) FROM campaign_history"); c.stands && got != versions {
					t.Errorf("run %d: %s versions, there were %s", i+1, got, versions)
				}
			}
			missing = false
			w.service.Advance(time.Hour)
			if w.sync(exit.OK); w.ask(ask, id) != was {
				t.Errorf("it is back, and stored is %s", w.ask(ask, id))
			}
			w.wantVerified()
		})
	}
}

// TestJudge_NeverRead: a field that never had a value in a reply is a warning. The warning says that there is nothing
// to do.
func TestJudge_NeverRead(t *testing.T) {
	w := newWorld(t)
	e := &rewriter{of: w.service.Transport()}
	w.transport = e
	id, isMissing := w.service.CampaignIDs()[0], true
	title := regexp.MustCompile(`"title":"[^"]*"`)
	e.edit = func(path, body string) (int, string) {
		isCreative := path == "campaigns/"+id+"/creatives" || strings.HasPrefix(path, "creatives/")
		if at := title.FindStringIndex(body); isMissing && isCreative && at != nil {
			body = body[:at[0]] + `"title":null` + body[at[1]:]
		}
		return 0, body
	}
	const hint = "title) (nothing to do: the next run asks again)"
	if r := w.sync(exit.OK); !strings.Contains(r.Run.Message.V, hint) {
		t.Errorf("the run says %s", r.Run.Message.V)
	}
	const lines = "SELECT field, message FROM ops.entity_read"
	if got := w.ask(lines); got != "title|"+NeverRead {
		t.Errorf("unread is %s", got)
	}
	isMissing = false
	w.service.Advance(time.Hour)
	if r := w.sync(exit.OK); strings.Contains(r.Run.Message.V, "unread") || w.ask(lines) != "" {
		t.Errorf("it was read, and unread is %s: %s", w.ask(lines), r.Run.Message.V)
	}
}
