package adsim

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"time"
)

//go:embed index.html
var indexText string

var indexPage = template.Must(template.New("index").Parse(indexText))

// indexAccount is what the index says of an account.
type indexAccount struct {
	Number                      int
	ID, Name, User, Balance     string
	Keys                        []indexKey
	Campaigns, Active, Changed  int
	Waiting, Images, Scheduled  int
	Subscribers, Sent           int
	Websites, AwaitingCreatives []string
}

type indexKey struct{ Name, Scope, Expires string }

// serveIndex answers GET /: what is running.
func (s *Service) serveIndex(st *state, r *http.Request) reply {
	var accounts []indexAccount
	for i, own := range s.accounts {
		accounts = append(accounts, own.describe(i))
	}
	file, lost := s.world.journal.status()
	var page bytes.Buffer
	err := indexPage.Execute(&page, map[string]any{
		"Base": baseOf(r), "API": APIPrefix, "Report": ReportPrefix, "Push": PushPrefix, "Control": s.world.cfg.Control,
		"Now": st.now.UTC().Format(time.RFC3339), "Today": s.Today(), "Standing": s.world.clock.stands(), "State": file,
		"Lost": lost, "Accounts": accounts,
	})
	if err != nil {
		return reportError(http.StatusInternalServerError, err.Error())
	}
	return reply{status: http.StatusOK, header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		body: page.Bytes()}
}

// describe tells of the account, without its secrets.
func (s *Service) describe(number int) indexAccount {
	st := s.snapshot()
	a := indexAccount{
		Number:            number,
		ID:                s.world.cfg.AdvertiserID,
		Name:              s.world.cfg.AdvertiserName,
		User:              s.world.cfg.ReportUser,
		Websites:          s.Websites(),
		Balance:           st.balanceOf(st.now.Truncate(10 * time.Minute)).status,
		AwaitingCreatives: s.Waiting(),
	}
	for _, cp := range st.campaigns() {
		a.Campaigns++
		if or(st.changes.campaign(cp.id).status, cp.status(st.today)) == "active" {
			a.Active++
		}
	}
	if st.changes != nil {
		a.Changed = len(st.changes.history)
	}
	a.Waiting = len(a.AwaitingCreatives)
	a.Images = s.imageCount()
	for _, k := range s.working(st.now) {
		a.Keys = append(a.Keys, indexKey{k.Name, k.Scope, k.expiresAt(st.now).UTC().Format(time.DateOnly)})
	}
	a.Subscribers, a.Sent, a.Scheduled = s.counts()
	return a
}
