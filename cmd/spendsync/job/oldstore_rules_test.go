package job

import (
	"errors"
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/schema"
)

// TestProveReport_OfAnUnprovenStore: versions that kept no proof may have described campaigns of another account. In
// their stores a described campaign proves a day only if the list of a proven key still has it. Otherwise the key
// must read a campaign of the day.
func TestProveReport_OfAnUnprovenStore(t *testing.T) {
	const own, own2, foreign = "C1000001", "C1000002", "C2000001"
	noKey := errors.New("whose key it is")
	for name, c := range map[string]struct {
		list   []string // nil: it fails
		keyErr error
		days   [][]string
		reads  string // the campaign that the key reads
		left   int    // days that are withheld
		err    error
		why    string // they are withheld
	}{
		"own day":                        {[]string{own, own2}, nil, [][]string{{own}}, "", 0, nil, ""},
		"foreign day":                    {[]string{own}, nil, [][]string{{foreign}}, "", 0, exit.ErrOtherReport, ""},
		"both":                           {[]string{own}, nil, [][]string{{own}, {foreign}}, own, 1, nil, "switched"},
		"foreign, no list":               {nil, nil, [][]string{{foreign}}, "", 1, nil, "cannot be proven yet"},
		"own, no list":                   {nil, nil, [][]string{{own}}, own, 0, nil, ""},
		"both, no list":                  {nil, nil, [][]string{{own}, {foreign}}, own, 1, nil, "switched"},
		"foreign, no key":                {[]string{foreign}, noKey, [][]string{{foreign}}, "", 1, nil, "proven yet"},
		"another that the key now reads": {[]string{own}, nil, [][]string{{foreign}}, foreign, 0, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			api := &fakeAPI{me: []string{`{"account_id":"adv_1"}`}, lists: []string{"500"},
				campaigns: map[string]string{own: "404", own2: "404", foreign: "404"}}
			if c.list != nil {
				api.lists[0] = strings.Join(c.list, " ")
				for _, id := range c.list {
					api.campaigns[id] = ""
				}
			}
			if c.reads != "" {
				api.campaigns[c.reads] = ""
			}
			s := sessionOf(t, api)
			key := keyProof{who: identity{account: "adv_1"}, err: c.keyErr,
				stored: storedCampaigns{own: true, foreign: true}, list: s.listCampaigns(t.Context())}
			days := &copiedDays{}
			for i, ids := range c.days {
				d := &copiedDay{isStaged: true, campaigns: ids, read: &dayRead{}}
				d.Day = aDay + schema.Date(i)
				d.put.Changed, d.read.sums.Rows = true, int64(i+1)
				days.days = append(days.days, d)
			}
			<-key.list.done
			p, err := (&prover{s: s, key: key, days: days}).proveReport(t.Context())
			if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if err != nil {
				return
			}
			if len(p.withheld) != c.left || c.left > 0 && !strings.Contains(p.err.Error(), c.why) {
				t.Errorf("%d days withheld: %v", len(p.withheld), p.err)
			}
		})
	}
}
