package job

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/load/settingslog"
	"spendsync/schema"
	"spendsync/transform"
)

// TestAccountReplay_Balance: a kept reply adds the balance that the account had then, unless the rows around it have
// the same one, and corrects the row that was made from it.
func TestAccountReplay_Balance(t *testing.T) {
	for name, c := range map[string]struct {
		stored string // times and balances
		at     schema.Instant
		now    string
		want   string // equal to stored: nothing has changed
	}{
		"the first":                     {"", 5, "7", "5:7.00"},
		"before the others":             {"10:5.00", 5, "7", "5:7.00 10:5.00"},
		"as the first one after":        {"10:5.00 20:6.00", 5, "5", "10:5.00 20:6.00"},
		"between":                       {"10:5.00 20:6.00", 15, "7", "10:5.00 15:7.00 20:6.00"},
		"after the others":              {"10:5.00 20:6.00", 25, "7", "10:5.00 20:6.00 25:7.00"},
		"as the one before":             {"10:5.00 20:6.00", 15, "5", "10:5.00 20:6.00"},
		"as the one after":              {"10:5.00 20:6.00", 15, "6", "10:5.00 20:6.00"},
		"as one further before":         {"10:7.00 12:5.00 20:6.00", 15, "7", "10:7.00 12:5.00 15:7.00 20:6.00"},
		"as one further after":          {"10:5.00 20:6.00 30:7.00", 15, "7", "10:5.00 15:7.00 20:6.00 30:7.00"},
		"as it was read":                {"10:5.00 20:6.00", 10, "5", "10:5.00 20:6.00"},
		"not as it was read":            {"10:5.00 20:6.00", 10, "7", "10:7.00 20:6.00"},
		"not as it was read, the last":  {"10:5.00 20:6.00", 20, "7", "10:5.00 20:7.00"},
		"not as it was, as the next is": {"10:5.00 20:6.00", 10, "6", "10:5.00 20:6.00"},
	} {
		var r accountReplay
		for _, word := range strings.Fields(c.stored) {
			at, balance, _ := strings.Cut(word, ":")
			row := schema.AccountSnapshot{AccountID: "acme", AdvertiserID: schema.Some("adv_1"),
				Raw: schema.Some("the three replies")}
			m, _, err := schema.ParseMoney([]byte(balance))
			if _, scanned := fmt.Sscan(at, &row.SeenAt); err != nil || scanned != nil {
				t.Fatal(err, scanned)
			}
			row.Balance = schema.Some(m)
			r.snapshots = append(r.snapshots, row)
		}
		for _, kind := range []string{"balance", "account"} { // the second could not be read when it came
			k := settingslog.Reply{At: c.at, Kind: kind, ID: "balance", Reply: `{"balance":` + c.now + `}`}
			if kind == "balance" {
				k.ID = ""
			}
			again := accountReplay{snapshots: slices.Clone(r.snapshots)}
			again.reply(nil, settingslog.Reply{At: c.at, Kind: "me", Reply: `{"balance":1}`})
			again.reply(nil, k)
			again.reread(transform.SettingsContext{Account: "acme", RunID: "run2"})
			again.reread(transform.SettingsContext{}) // nothing is left of it
			var got []string
			for _, row := range again.snapshots {
				got = append(got, fmt.Sprintf("%d:%s", row.SeenAt, row.Balance.V))
				wasThere := strings.Contains(" "+c.stored, fmt.Sprintf(" %d:", row.SeenAt))
				if (row.Raw.V == "the three replies") != wasThere ||
					(row.AdvertiserID.V == "adv_1") != (row.SeenAt > 5) {
					t.Errorf("%s by %s: %+v", name, kind, row)
				}
			}
			is := strings.Join(got, " ")
			if changed := is != c.stored; is != c.want || again.used != 0 ||
				again.balances != map[bool]int{true: 1}[changed] {
				t.Errorf("%s by %s: %s, %d changed", name, kind, is, again.balances)
			}
		}
	}
}

// TestAccountReplay_Budgets are repaired in the same way, each kind by itself.
func TestAccountReplay_Budgets(t *testing.T) {
	budget := func(at schema.Instant, kind string, used int64) schema.AccountLimit {
		return schema.AccountLimit{SeenAt: at, LimitKind: kind, Used: schema.Some(used), Allowed: schema.Some[int64](9)}
	}
	stored := []schema.AccountLimit{budget(10, "a", 1), budget(10, "b", 1), budget(20, "a", 2)}
	for name, c := range map[string]struct {
		at    schema.Instant
		reply string // kind and used
		want  string
		used  int
	}{
		"as it was":            {15, "a 1 b 1", "10a1 10b1 20a2", 0},
		"as it became":         {15, "a 2", "10a1 10b1 20a2", 0},
		"one has another":      {15, "a 1 b 5", "10a1 10b1 15b5 20a2", 1},
		"both have others":     {15, "a 7 b 5", "10a1 10b1 15a7 15b5 20a2", 2},
		"a new kind":           {15, "c 4", "10a1 10b1 15c4 20a2", 1},
		"one that was misread": {10, "b 3", "10a1 10b3 20a2", 1},
	} {
		var limits []string
		words := strings.Fields(c.reply)
		for i := 0; i < len(words); i += 2 {
			limits = append(limits, fmt.Sprintf(`{"kind":%q,"used":%s,"limit":9}`, words[i], words[i+1]))
		}
		for _, kind := range []string{"limits", "account"} {
			r := accountReplay{budgets: slices.Clone(stored)}
			r.reply(nil, settingslog.Reply{At: c.at, Kind: kind, ID: "limits",
				Reply: `{"limits":[` + strings.Join(limits, ",") + `]}`})
			r.reread(transform.SettingsContext{Account: "acme"})
			r.reread(transform.SettingsContext{})
			var got []string
			for _, l := range r.budgets {
				got = append(got, fmt.Sprint(int64(l.SeenAt), l.LimitKind, l.Used.V))
			}
			if is := strings.ReplaceAll(strings.Join(got, ";"), " ", ""); is != strings.ReplaceAll(c.want, " ", ";") ||
				r.used != c.used || r.balances != 0 {
				t.Errorf("%s by %s: %s, %d changed", name, kind, is, r.used)
			}
		}
	}
}

// replayOf is a repair of settings of which nothing is stored, as of an instant after all replies.
func replayOf(t *testing.T) *settingsReplay {
	t.Helper()
	r := &settingsReplay{c: transform.SettingsContext{Account: "acme", RunID: "run2"},
		bids: map[string]schema.Instant{}, listed: map[string]extract.Entity{}, detailed: map[string]extract.Entity{}}
	begin(t, schema.CampaignHistory, &r.campaigns)
	begin(t, schema.DeliveryHistory, &r.delivery)
	begin(t, schema.CreativeHistory, &r.creatives)
	begin(t, schema.SourceRuleHistory, &r.rules)
	begin(t, schema.SourceModeHistory, &r.modes)
	return r
}

func begin[R any, P history.Versioned[R]](t *testing.T, of schema.TableOf[R], to **history.Replay[R, P]) {
	t.Helper()
	var err error
	h := history.Versions[R]{Confirmations: history.Confirmations{ObservedAt: 1000}}
	if *to, err = history.NewReplay[R, P](of, h, "run2"); err != nil {
		t.Fatal(err)
	}
}

// versionsOf are the versions of a table in one line.
func versionsOf[R any, P history.Versioned[R]](t *testing.T, by *history.Replay[R, P], of func(*R) string) string {
	t.Helper()
	next, _, err := by.Versions()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i := range next.Rows {
		f := P(&next.Rows[i]).FramePtr()
		gone := ""
		if f.IsDeleted {
			gone = " gone"
		}
		lines = append(lines, fmt.Sprintf("%d %s%s", f.ValidFrom, of(&next.Rows[i]), gone))
	}
	return strings.Join(lines, ", ")
}

// TestSettingsReplay_Readings: the replies of each reading make the versions that the service had then; a reply about a
// campaign counts before the listing's, and what is missing or damaged takes no known value away.
func TestSettingsReplay_Readings(t *testing.T) {
	const id, other, creative = "C1000001", "C1000002", "C1000001-001"
	at := func(at schema.Instant, kind, id, reply string) settingslog.Reply {
		return settingslog.Reply{At: at, Seen: at + 5, Kind: kind, ID: id, Reply: reply}
	}
	of := func(at schema.Instant, id, reply string) settingslog.Reply {
		return settingslog.Reply{At: at, Seen: at + 5, Kind: extract.KindCreative, Of: "C1000001", ID: id, Reply: reply}
	}
	campaign := func(id, name, is string) string {
		return fmt.Sprintf(`{"id":%q,"name":%q,"status":"active","default_bid":0.5,"delivery_status":%q}`, id, name, is)
	}
	r := replayOf(t)
	readings := [][]settingslog.Reply{
		{at(100, listedCampaign, id, `{"id":"`+id+`","status":"active"}`),
			at(101, extract.KindCampaign, id, campaign(id, "a", "serving")),
			at(102, listedCampaign, other, campaign(other, "x", "paused")),
			of(103, creative, `{"id":"`+creative+`","title":"t","message":"m","link":"https://a.test/"}`),
			at(104, extract.KindSources, id, `{"campaign_id":"`+id+`","mode":"block_list","blocked":["S1","S2"],`+
				`"bid_overrides":[{"source_id":"S3","bid":0.2}]}`),
			at(105, "balance", "", `{"balance":5}`)},
		{at(200, extract.KindCampaign, id, campaign(id, "b", "serving"))},
		{at(300, extract.KindCampaign, id, `{"id":"`+id+`","status":"active","delivery_status":"paused"}`),
			at(301, "source settings of", id, `{"campaign_id":"`+id+`","mode":"block_list","blocked":["S1"]}`),
			of(302, creative, `{"id":"`+creative+`","title":"","message":"n","link":"https://a.test/"}`)},
		{at(400, listedCampaign, id, campaign(id, "b", "serving")), at(401, extract.KindCampaign, id, `no JSON`),
			of(402, creative, `{"id":"C9999999-001"}`), at(403, extract.KindSources, id, `{"campaign_id":"C9999999"}`)},
	}
	for _, kept := range readings {
		if err := r.reading(kept); err != nil {
			t.Fatal(err)
		}
	}
	for what, c := range map[string][2]string{
		"campaigns": {versionsOf(t, r.campaigns, func(c *schema.Campaign) string {
			return c.CampaignID + " " + c.Name.V + " " + c.DefaultBid.V.String()
		}), "105 C1000001 a 0.50, 205 C1000001 b 0.50, 105 C1000002 x 0.50"},
		"delivery": {versionsOf(t, r.delivery, func(d *schema.Delivery) string {
			return d.CampaignID + " " + d.DeliveryStatus.V
		}), "105 C1000001 serving, 305 C1000001 paused, 405 C1000001 serving, 105 C1000002 paused"},
		"creatives": {versionsOf(t, r.creatives, func(c *schema.Creative) string {
			return c.CampaignID.V + " " + c.Title.V + " " + c.Message.V
		}), "108 C1000001 t m, 307 C1000001 t n"},
		"modes": {versionsOf(t, r.modes, func(m *schema.SourceMode) string {
			return m.CampaignID + " " + m.SourceMode.V
		}), "109 C1000001 block_list"},
		"rules": {versionsOf(t, r.rules, func(s *schema.SourceRule) string { return s.Rule + " " + s.SourceID }),
			"109 blocked S1, 109 blocked S2, 306 blocked S2 gone, 109 bid_override S3"},
		"bids":     {fmt.Sprint(r.bids), "map[C1000001:1970-01-01T00:00:00.000104Z]"},
		"balances": {fmt.Sprint(len(r.money.snapshots)), "1"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: %s", what, c[0])
		}
	}
}

// settingsStore is a published store of a campaign with its creative, four blocked sources and two bids, made of kept
// replies.
func settingsStore(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	before := emptyStore(t)
	firsts.Copy(t, "settings", dir, func() {
		if err := os.CopyFS(dir, os.DirFS(before)); err != nil {
			t.Fatal(err)
		}
		d, end := newDayTest(t, dir, &scriptedReport{day: schema.DateOf(worldNow)})
		defer end()
		r := replayOf(t)
		kept := func(kind, id, reply string) settingslog.Reply {
			return settingslog.Reply{At: 100, Seen: 105, Kind: kind, ID: id, Of: "C1000001", Reply: reply}
		}
		err := r.reading([]settingslog.Reply{
			kept(extract.KindCampaign, "C1000001",
				`{"id":"C1000001","name":"n","status":"active","delivery_status":"x"}`),
			kept(extract.KindCreative, "C1000001-001", `{"id":"C1000001-001","title":"t"}`),
			kept(extract.KindSources, "C1000001", `{"campaign_id":"C1000001","mode":"block_list",`+
				`"blocked":["S1","S2","S3","S4"],`+
				`"bid_overrides":[{"source_id":"S8","bid":0.2},{"source_id":"S9","bid":0.3}]}`),
			kept("balance", "", `{"balance":5}`), kept("limits", "", `{"limits":[{"kind":"a","used":1,"limit":9}]}`)})
		m := &offlineRun{Job: d.s.Job, store: d.s.store, staged: d.s.staged}
		if err == nil {
			err = r.stage(m)
		}
		if err != nil || m.filled != 12 {
			t.Fatalf("%d rows, %v", m.filled, err)
		}
		d.commit(t)
	})
	return dir
}

// TestSettingsReplay_Stage: what the kept replies yield is published, and what they do not change is not.
func TestSettingsReplay_Stage(t *testing.T) {
	n, end := readerOf(t, settingsStore(t))
	defer end()
	campaigns, err := load.StoredTable(n.run.store, schema.CampaignHistory)
	delivery, err2 := load.StoredTable(n.run.store, schema.DeliveryHistory)
	creatives, err3 := load.StoredTable(n.run.store, schema.CreativeHistory)
	modes, err4 := load.StoredTable(n.run.store, schema.SourceModeHistory)
	rules, err5 := load.StoredTable(n.run.store, schema.SourceRuleHistory)
	money, err6 := storedMoney(n.run.store)
	if err := errors.Join(err, err2, err3, err4, err5, err6); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(len(campaigns), len(delivery), len(creatives), len(modes), len(rules), len(money.snapshots),
		len(money.budgets), int64(n.run.store.BidsRead().Confirmed("C1000001")))
	if got != "1 1 1 1 6 1 1 100" {
		t.Errorf("%s", got)
	}
	m := &offlineRun{Job: n.run.Job, store: n.run.store, staged: n.run.staged}
	if err := m.replaySettings(); err != nil || m.filled != 0 {
		t.Errorf("%d rows are filled in, %v", m.filled, err)
	}
}
