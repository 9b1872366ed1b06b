package adsim

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"time"

	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/report"
	"spendsync/extract/adsim/wire"
)

//go:embed index.html
var indexText string

var indexPage = template.Must(template.New("index").Parse(indexText))

// indexAccount is an account on the index page.
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

// serveIndex answers GET / with a page about the running service.
func (s *Service) serveIndex(st *ledger.State, r *http.Request) wire.Reply {
	var accounts []indexAccount
	for i, own := range s.accounts {
		accounts = append(accounts, own.describe(i))
	}
	file, lost := s.World.Journal.Status()
	var page bytes.Buffer
	err := indexPage.Execute(&page, map[string]any{
		"Base": wire.BaseOf(
			r,
		), "API": wire.APIPrefix, "Report": wire.ReportPrefix, "Push": wire.PushPrefix, "Control": s.World.Cfg.Control,
		"Now": st.Now.UTC().Format(time.RFC3339), "Today": s.Today(), "Standing": s.World.Clock.Stands(), "State": file,
		"Lost": lost, "Accounts": accounts,
	})
	if err != nil {
		return report.Error(http.StatusInternalServerError, err.Error())
	}
	return wire.Reply{Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		Body: page.Bytes()}
}

// describe returns of the account, without its secrets.
func (s *Service) describe(number int) indexAccount {
	st := s.Snapshot()
	a := indexAccount{
		Number:            number,
		ID:                s.World.Cfg.AdvertiserID,
		Name:              s.World.Cfg.AdvertiserName,
		User:              s.World.Cfg.ReportUser,
		Websites:          s.Websites(),
		Balance:           st.BalanceOf(st.Now.Truncate(10 * time.Minute)).Status,
		AwaitingCreatives: s.Waiting(),
	}
	for _, cp := range st.Campaigns() {
		a.Campaigns++
		if ledger.Or(st.Changes.Campaign(cp.ID).Status, cp.Status(st.Today)) == "active" {
			a.Active++
		}
	}
	if st.Changes != nil {
		a.Changed = len(st.Changes.History)
	}
	a.Waiting = len(a.AwaitingCreatives)
	a.Images = s.ImageCount()
	for _, k := range s.Working(st.Now) {
		a.Keys = append(a.Keys, indexKey{k.Name, k.Scope, k.Ends(st.Now).UTC().Format(time.DateOnly)})
	}
	a.Subscribers, a.Sent, a.Scheduled = s.Counts()
	return a
}
