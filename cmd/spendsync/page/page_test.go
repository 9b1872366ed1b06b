package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"spendsync/schema"
)

func write(t *testing.T, r Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// element is a start tag with the text up to its end.
type element struct {
	name  string
	attrs map[string]string
	text  string
}

// parse walks a page as strictly as XML: what is written must nest, and close.
func parse(t *testing.T, html string) []element {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(regexp.MustCompile(`<meta ([^>]*)>`).ReplaceAllString(html, "<meta $1/>")))
	var all []element
	var open []int
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v near %q", err, html[max(0, d.InputOffset()-200):d.InputOffset()])
		}
		switch v := tok.(type) {
		case xml.StartElement:
			e := element{name: v.Name.Local, attrs: map[string]string{}}
			for _, a := range v.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			open, all = append(open, len(all)), append(all, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			for _, i := range open {
				all[i].text += string(v)
			}
		}
	}
}

func TestWrite_SameReportSameBytes(t *testing.T) {
	first := write(t, samplePage(sample(40, 120)))
	for range 3 {
		if write(t, samplePage(sample(40, 120))) != first {
			t.Fatal("the same report gave another page")
		}
	}
}

// TestWrite_NeedsNothingElse holds that nothing in a page makes a browser ask, run
// or go anywhere, and that the policy allows just the style sheet that is there.
func TestWrite_NeedsNothingElse(t *testing.T) {
	html := write(t, samplePage(sample(40, 120), hostile()))
	css := ""
	policy := ""
	for _, e := range parse(t, html) {
		switch e.name {
		case "script", "a", "img", "iframe", "form", "input", "link", "object", "embed", "base", "image", "use",
			"foreignObject", "animate", "set":
			t.Errorf("the page has a %s %v", e.name, e.attrs)
		case "style":
			css += e.text
		}
		for name, value := range e.attrs {
			if name == "style" || strings.HasPrefix(name, "on") || name == "href" || name == "src" {
				t.Errorf("%s has %s=%q", e.name, name, value)
			}
		}
		if e.attrs["http-equiv"] == "Content-Security-Policy" {
			policy = e.attrs["content"]
		}
	}
	sum := sha256.Sum256([]byte(css))
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; img-src data:; base-uri 'none'; form-action 'none'"
	if policy != want {
		t.Errorf("policy %q, want %q", policy, want)
	}
	if m := regexp.MustCompile(`url\((?:[^#)][^)]*)\)|@import|expression\(`).FindString(css); m != "" {
		t.Errorf("the style sheet has %s", m)
	}
}

// nasty are texts that would do something if they were not held as texts.
var nasty = []string{
	`"><script>window.hacked=1</script>`, `</style><img src=x onerror="window.hacked=1">`,
	`'; DROP TABLE spend_daily;--`,
	"evil\u202egnp.exe", "bell\a\x1b[31mred\x00nul", "line\u2028sep\r\n<b>bold</b>", `{{.Policy}} &amp;&lt;`,
	"javascript:window.hacked=1",
	strings.Repeat("W", 5000), strings.Repeat("long word ", 400), "مرحبا بالعالم",
	"a\u0300\u0300\u0300\u0300\u0300 zalgo", "\u2066isolate\ufeff", "   ",
}

// hostile is an account all of whose texts are nasty.
func hostile() Account {
	a := sample(40, 120)
	n := 0
	next := func() string { n++; return nasty[n%len(nasty)] }
	named := func(v *Named) { v.ID, v.Name = next(), next() }
	a.Name, a.Fresh.RunID, a.Fresh.Version = next(), next(), next()
	for i := range a.Coverage.Days {
		a.Coverage.Days[i].Do = next()
	}
	for i := range a.Spend.Campaigns {
		named(&a.Spend.Campaigns[i])
	}
	for i := range a.Pacing.Rows {
		named(&a.Pacing.Rows[i].Campaign)
		a.Pacing.Rows[i].Advice = next()
	}
	for i := range a.Breaks.Rows {
		b := &a.Breaks.Rows[i]
		named(&b.Campaign)
		b.Kind, b.Delivery, b.Do = next(), next(), next()
	}
	for i := range a.Campaigns.Rows {
		named(&a.Campaigns.Rows[i].Campaign)
		a.Campaigns.Rows[i].Verdict = next()
	}
	for i := range a.Sources.Rows {
		r := &a.Sources.Rows[i]
		named(&r.Campaign)
		r.Source, r.TargetOrigin = next(), next()
	}
	for i := range a.Fatigue.Rows {
		named(&a.Fatigue.Rows[i].Campaign)
		named(&a.Fatigue.Rows[i].Creative)
		a.Fatigue.Rows[i].Push = Push{next(), "https://" + next() + "/", next(), next(), next(), next()}
	}
	for i := range a.Bids.Rows {
		named(&a.Bids.Rows[i].Campaign)
		a.Bids.Rows[i].Source = next()
	}
	for i := range a.Timeline.Lanes {
		named(&a.Timeline.Lanes[i].Campaign)
		a.Timeline.Lanes[i].Spans[0].Status = next()
	}
	for i := range a.Timeline.Changes {
		c := &a.Timeline.Changes[i]
		named(&c.Campaign)
		c.Entity, c.EntityID, c.Kind, c.Columns, c.Text = next(), next(), next(), next(), next()
	}
	for i := range a.Health.Runs {
		r := &a.Health.Runs[i]
		r.ID, r.Command, r.Outcome, r.Message = next(), next(), next(), next()
	}
	for i := range a.Health.Checks {
		a.Health.Checks[i].Name, a.Health.Checks[i].Do = next(), next()
	}
	return a
}

// TestWrite_HoldsHostileTextsAsText lets every text of an account try.
func TestWrite_HoldsHostileTextsAsText(t *testing.T) {
	html := write(t, samplePage(hostile()))
	for _, r := range html {
		if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) {
			t.Fatalf("the page holds %U", r)
		}
	}
	parse(t, html) // nests, so nothing broke out
	for _, never := range []string{"<script", "<img", "onerror=\"", "<b>bold", strings.Repeat("W", 250)} {
		if strings.Contains(html, never) {
			t.Errorf("the page holds %s", never)
		}
	}
	if !strings.Contains(html, "&lt;script&gt;window.hacked=1&lt;/script&gt;") {
		t.Error("the page does not show a hostile name at all")
	}
}

// TestWrite_StaysSmall draws as much of an account as a report ever does, all of
// its names as long as they get.
func TestWrite_StaysSmall(t *testing.T) {
	a := sample(1000, 135)
	long := strings.Repeat("ö", 80)
	for i := range a.Sources.Rows {
		a.Sources.Rows[i].Campaign.Name, a.Sources.Rows[i].Source = long, long
	}
	for len(a.Bids.Rows) < 120 {
		a.Bids.Rows = append(a.Bids.Rows, a.Bids.Rows[0])
	}
	for i := range a.Bids.Rows {
		a.Bids.Rows[i].Campaign.Name = long
	}
	for len(a.Timeline.Changes) < 60 {
		a.Timeline.Changes = append(a.Timeline.Changes, a.Timeline.Changes[0])
	}
	if n := len(write(t, samplePage(a))); n > 700_000 {
		t.Errorf("the page has %d bytes, want well under 1 MB", n)
	}
}

// TestWrite_SaysWhyThereIsNothing gives an account of which nothing is known.
func TestWrite_SaysWhyThereIsNothing(t *testing.T) {
	a := Account{Name: "new"}
	for _, why := range []*string{&a.Campaigns.Why, &a.Coverage.Why, &a.Spend.Why, &a.Pacing.Why, &a.Sources.Why,
		&a.Fatigue.Why, &a.Bids.Why, &a.Runway.Why, &a.Restated.Why, &a.Timeline.Why, &a.Health.Why} {
		*why = "because of this"
	}
	html := write(t, samplePage(a))
	if got := strings.Count(html, "because of this"); got != 11 {
		t.Errorf("%d sections say why they are empty, want 11", got)
	}
	for _, e := range parse(t, html) {
		if e.name == "svg" && e.attrs["role"] == "img" {
			t.Errorf("the page draws %v of nothing", e.attrs)
		}
	}
	if strings.Contains(html, "$0") {
		t.Error("the page shows $0 where nothing is known")
	}
}

// TestWrite_NamesEveryDrawing holds that each drawing says what it is.
func TestWrite_NamesEveryDrawing(t *testing.T) {
	ids := map[string]int{}
	drawings := 0
	var labelled []string
	for _, e := range parse(t, write(t, samplePage(sample(40, 120), sample(40, 120)))) {
		if id := e.attrs["id"]; id != "" {
			ids[id]++
		}
		if e.name == "svg" && e.attrs["role"] == "img" {
			drawings++
			if e.attrs["aria-label"] == "" {
				labelled = append(labelled, strings.Fields(e.attrs["aria-labelledby"])...)
			}
		}
	}
	for id, n := range ids {
		if n != 1 {
			t.Errorf("id %s stands %d times", id, n)
		}
	}
	for _, id := range labelled {
		if ids[id] != 1 {
			t.Errorf("a drawing is named by %s, which is not there", id)
		}
	}
	if drawings < 40 || len(labelled) < 20 {
		t.Errorf("%d drawings, %d names: want more", drawings, len(labelled))
	}
}

// TestWrite_EachSectionSaysOneThing counts the sentences.
func TestWrite_EachSectionSaysOneThing(t *testing.T) {
	html := write(t, samplePage(sample(40, 120)))
	if got := strings.Count(html, `<p class="verdict `); got != 12 {
		t.Errorf("%d verdicts, want one for each of 12 sections", got)
	}
}

func TestVerdict_FollowsTheNumbers(t *testing.T) {
	d := schema.NewDate(2026, 11, 20)
	spendDays := func(first, second float64) (days []SpendDay) {
		for i := range 14 {
			v := first
			if i >= 7 {
				v = second
			}
			days = append(days, SpendDay{Date: d + schema.Date(i), State: schema.StateComplete, Total: N(v),
				Parts: []Number{N(v), N(0)}})
		}
		return days
	}
	fallen := func() []SpendDay { // 490 and 10 a day, then 492.90 and 2.90
		days := spendDays(500, 495.8)
		for i := range days {
			days[i].Parts = []Number{N(490), N(10), N(0)}
			if i >= 7 {
				days[i].Parts = []Number{N(492.9), N(2.9), N(0)}
			}
		}
		return days
	}
	for _, c := range []struct {
		name string
		got  Verdict
		tone string
		want string
	}{
		{"coverage/nothing", Coverage{Why: "none"}.Verdict(), "unknown", "none"},
		{"coverage/whole", Coverage{Days: []Day{{Date: d, State: schema.StateComplete}}}.Verdict(), "fine",
			"1 of them may still be restated"},
		{"coverage/gap", Coverage{Days: []Day{{Date: d, State: schema.StateMissing, Left: N(3)},
			{Date: d + 1, State: schema.StatePartial, Left: N(4)}}}.Verdict(), "act", "within 3 days"},
		{"coverage/lost", Coverage{Days: []Day{{Date: d, State: schema.StateLost}}}.Verdict(), "watch",
			"Leave 1 day out"},
		{"spend/short", Spend{Campaigns: []Named{{"c", "C"}}, Days: spendDays(1, 1)[:13]}.Verdict(), "unknown",
			"Fewer than 14 days"},
		{"spend/still", Spend{Campaigns: []Named{{"c", "C"}}, Days: spendDays(100, 101)}.Verdict(), "fine",
			"$707.00 in the last 7 whole days"},
		{"spend/moved", Spend{Campaigns: []Named{{"c", "C"}}, Days: spendDays(100, 150)}.Verdict(), "watch",
			"A, C (c), first: it spent $1,050 in the last 7 whole days, $350.00 more"},
		{"spend/one fell", Spend{Campaigns: []Named{{"c", "C"}, {"d", "D"}}, Days: fallen()}.Verdict(), "watch",
			"but B, D (d), fell by 71 % to $20.30"},
		{"pacing/limited", Pacing{Rows: []Pace{{Campaign: Named{"c", "C"}, State: "limited",
			Advice: "a higher limit would buy more of what pays"}}}.Verdict(), "act",
			"limit of C (c), which holds it back"},
		{"pacing/limited and losing", Pacing{Rows: []Pace{{Campaign: Named{"c", "C"}, State: "limited",
			Advice: "leave the limit: it pays more per conversion than its target"}}}.Verdict(), "fine",
			"Leave the limits"},
		{"pacing/waits for funds", Pacing{Rows: []Pace{{Campaign: Named{"c", "C"}, State: "under",
			Advice: "add money: nothing else makes it deliver"}}}.Verdict(), "act", "C (c) waits for funds"},
		{"pacing/under", Pacing{Rows: []Pace{{Campaign: Named{"c", "C"}, State: "under",
			Advice: "nothing: it spends less than it may"}}}.Verdict(), "fine", "Nothing to do"},
		{"campaigns/loses", Campaigns{Loses: 2, Rows: []Payer{{Campaign: Named{"d", "D"}, Verdict: "pays"},
			{Campaign: Named{"c", "C"}, Verdict: "loses", Ratio: N(4.62), CPA: N(115), Best: N(98), Target: N(25),
				Excess: N(900)}, {Verdict: "loses", Excess: N(1)},
			{Verdict: "loses", Status: "paused", Excess: N(5000)}}}.Verdict(), "act",
			"C (c) as a whole is at 4.6 times its target: a conversion cost $115.00 there, $98.00 even with luck"},
		{"campaigns/unclear", Campaigns{Paying: 2, Unclear: 1, Rows: []Payer{{Verdict: "pays"}}}.Verdict(), "watch",
			"2 pay; 1 may or may not"},
		{"campaigns/all pay", Campaigns{Paying: 2, Rows: []Payer{{Verdict: "pays"}}}.Verdict(), "fine",
			"Every campaign"},
		{"campaigns/no target", Campaigns{Aimless: 2, Rows: []Payer{{Verdict: "no_target",
			Conversions: N(2)}}}.Verdict(), "unknown", "target CPA"},
		{"campaigns/no conversions", Campaigns{Aimless: 2, Rows: []Payer{{Verdict: "unknown"}}}.Verdict(), "unknown",
			"conversions of no campaign"},
		{"campaigns/no target, payouts", Campaigns{Aimless: 2, Profit: N(-20.5), Rows: []Payer{{Verdict: "no_target"}}}.
			Verdict(), "watch", "a loss of $20.50"},
		{"breaks/tracking", Breaks{Rows: []Break{{Campaign: Named{"c", "C"}, Kind: "conversions_stopped", Since: d,
			Observed: N(2), Expected: N(85)}, {}}}.Verdict(), "act",
			"the conversions of C (c) still reach the service: 2 since Fri 20 Nov, where 85 were to be expected"},
		{"breaks/spend", Breaks{Rows: []Break{{Campaign: Named{"c", "C"}, Kind: "spend_jumped", Since: d,
			Do: "see what changed"}}}.Verdict(), "watch", "Spend jumped of C (c)"},
		{"sources/block", Sources{Rows: []Source{{Source: "s1", Campaign: Named{"c", "C"}, Verdict: "block",
			Conversions: N(0)},
			{Source: "s1", Campaign: Named{"d", "D"}, Verdict: "block"}}, Block: N(95),
			Losing: N(20.5), Excess: N(1234.6)}.Verdict(), "act",
			"Block 95 sources, first of all s1 of C (c) and s1 of D (d): going on is expected to lose $20.50 a day"},
		{"sources/block, crowds out", Sources{Rows: []Source{{Source: "s1", Campaign: Named{"c", "C"}, Verdict: "block",
			Conversions: N(0)}, {Source: "s2", Campaign: Named{"d", "D"}, Verdict: "crowds_out"}}, Block: N(1),
			CrowdsOut: N(2), Crowding: N(7.5)}.Verdict(), "act",
			"Block 2 more, first of all s2 of D (d), of campaigns that spend all of their daily limit: the same " +
				"money is expected to bring $7.50 a day more"},
		{"sources/crowds out", Sources{Rows: []Source{{Source: "s1", Campaign: Named{"c", "C"}, Verdict: "crowds_out",
			Conversions: N(9)}}, CrowdsOut: N(1), Crowding: N(7.5)}.Verdict(), "act",
			"No source loses. Block 1 source, first of all s1 of C (c), of campaigns"},
		{"sources/fine", Sources{Rows: []Source{{Source: "s1", Conversions: N(0)}}}.Verdict(), "fine",
			"no source is worse than chance"},
		{"sources/without conversions", Sources{Rows: []Source{{Source: "s1"}}}.Verdict(), "unknown",
			"none can be judged"},
		{"fatigue/none", Fatigue{Rows: []Tired{{State: "steady"}}}.Verdict(), "fine", "Nothing to replace"},
		{"fatigue/two", Fatigue{Rows: []Tired{{State: "exhausted", Creative: Named{"k", "K"},
			Campaign: Named{"c", "C"}, CTR: N(0.02), Decline: N(0.5)}, {State: "fatiguing"}}}.Verdict(),
			"act", "“K” (k) of C (c) first: its CTR is 2 %, 50 % below its peak; 1 more is tired"},
		{"fatigue/together", Fatigue{Rows: []Tired{{State: "steady", Decline: N(0.7)},
			{State: "steady", Together: true, Decline: N(0.56), Creative: Named{"k", "K"},
				Campaign: Named{"c", "C"}}}}.Verdict(), "watch",
			"those of C (c) fell together: the CTR of “K” is 56 %"},
		{"bids/a point estimate", Bids{Rows: []Bid{{CPC: N(1), BreakEven: N(0.1), Conversions: N(30),
			Advice: "keep"}}}.Verdict(), "fine", "Nothing to lower"},
		{"bids/the service's", Bids{Optimized: N(2), Rows: []Bid{{CPC: N(1), BreakEven: N(0.1),
			Advice: "service_bids"}}}.Verdict(), "fine", "Leave those of 2 sources alone"},
		{"bids/less", Bids{Less: N(2), Rows: []Bid{{Campaign: Named{"c", "C"}, Source: "s", CPC: N(1), Now: N(1.1),
			Advice: "bid_less"}}}.Verdict(), "act", "source s of C (c) than the $1.100 of now"},
		{"runway/card", Runway{Balance: N(60), Stop: N(50), AutoFunded: true, DaysAtMean: N(0.1)}.Verdict(), "fine",
			"charges the card by itself"},
		{"runway/card not charged", Runway{Balance: N(49), Stop: N(50), AutoFunded: true}.Verdict(), "act",
			"See why the card was not charged"},
		{"bids/stale", Bids{Rows: []Bid{{Stale: true}}}.Verdict(), "unknown", "too long ago"},
		{"runway/empty", Runway{Balance: N(49), Stop: N(50)}.Verdict(), "act", "Add money now"},
		{"runway/soon", Runway{Balance: N(500), Stop: N(50), Mean: N(100), DaysAtMean: N(4.5),
			StopsOn: schema.Some(d)}.Verdict(), "act", "before Fri 20 Nov 2026: at $100.00 a day the balance of " +
			"$500.00 reaches $50.00 in 4.5 days"},
		{"runway/no pace", Runway{Balance: N(500), Stop: N(50)}.Verdict(), "unknown", "the pace is not"},
		{"health/failed run", Health{Runs: []Run{{ExitCode: 5, Outcome: "not reached"}}}.Verdict(), "act",
			"exit 5, not reached"},
		{"health/failed check",
			Health{Runs: []Run{{}},
				Checks: []Check{{Name: "days_missing", Known: true, Do: "run spendsync sync."}}}.Verdict(), "act",
			"1 check of the data failed: days missing. To begin with the first: Run spendsync sync."},
		{"health/unknown check", Health{Runs: []Run{{}}, Checks: []Check{{Name: "x"}}, Passed: 3}.Verdict(), "fine",
			"3 checks of the data passed"},
	} {
		if c.got.Tone != c.tone || !strings.Contains(c.got.Text, c.want) {
			t.Errorf("%s: %s %q, want %s with %q", c.name, c.got.Tone, c.got.Text, c.tone, c.want)
		}
	}
}

func TestPlain_LeavesNothingThatActs(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\n c":             "a b c",
		"x\u202ey":             "x\ufffdy",
		"\x1b[1m":              "\ufffd[1m",
		"👩\u200d👩":             "👩\u200d👩",
		"  ":                   "",
		strings.Repeat("é", 9): "ééééé…",
	} {
		if got := plain(in, 5); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFormats_SayWhatTheyShow(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{money(Number{}), "unknown"}, {money(N(0)), "$0.00"}, {money(N(999.994)), "$999.99"},
		{money(N(1234567.8)), "$1,234,568"}, {money(N(-3.5)), "−$3.50"}, {money(N(0.000123)), "$0.000123"},
		{price(N(0.6234)), "$0.623"}, {price(N(27.314)), "$27.31"}, {count(N(1234567)), "1,234,567"},
		{count(N(1.25)), "1.2"},
		{percent(N(0.02134)), "2.1 %"}, {percent(N(0.48)), "48 %"}, {percent(N(0.0034)), "0.34 %"},
		{percent(N(0)), "0 %"}, {signed(N(0.05)), "+5 %"}, {signed(N(-0.05)), "−5 %"},
		{short(12500), "$12.5k"}, {short(5000), "$5,000"}, {short(0.25), "$0.25"}, {rough(N(53.3)), "$53.30"},
		{rough(N(1850)), "$1,850"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}

func TestParseNumber_KeepsDigitsAndRefusesOthers(t *testing.T) {
	if n := ParseNumber(schema.Some("92233720368.547758")); !n.Known || n.Text != "92233720368.547758" {
		t.Errorf("got %+v", n)
	}
	for _, s := range []schema.Null[string]{{}, schema.Some("NaN"), schema.Some("Infinity"), schema.Some("abc"),
		schema.Some("")} {
		if n := ParseNumber(s); n.Known {
			t.Errorf("%v is known as %v", s, n)
		}
	}
}

// TestNiceTicks_ReachTheTop walks magnitudes.
func TestNiceTicks_ReachTheTop(t *testing.T) {
	for _, top := range []float64{0, 0.003, 0.9, 1, 7, 99, 100, 101, 8200, 1e6} {
		ticks := niceTicks(top, 4, func(f float64) string { return fmt.Sprint(f) })
		if last := ticks[len(ticks)-1].Value; last < top*(1-1e-9) || len(ticks) > 6 || ticks[0].Value != 0 {
			t.Errorf("top %v: %d ticks to %v", top, len(ticks), last)
		}
	}
}

// TestWrite_StandsStrangeNumbers puts the same odd number everywhere, and draws an
// account of one day too.
func TestWrite_StandsStrangeNumbers(t *testing.T) {
	for _, n := range []Number{{}, N(0), N(-5), N(1e-9), N(1), N(1e15)} {
		for _, short := range []bool{false, true} {
			a := sample(7, 12)
			if short {
				a.Spend.Days, a.Coverage.Days, a.Fatigue.Rows[0].Days = a.Spend.Days[:1], a.Coverage.Days[:1], nil
			}
			setNumbers(reflect.ValueOf(&a).Elem(), n)
			html := write(t, samplePage(a))
			for _, never := range []string{"NaN", "Inf", "%!"} {
				if strings.Contains(html, never) {
					i := strings.Index(html, never)
					t.Errorf("%+v, short %v: the page holds %s", n, short, html[max(0, i-80):i+10])
				}
			}
		}
	}
}

// setNumbers sets every number within a value.
func setNumbers(v reflect.Value, n Number) {
	switch {
	case v.Type() == reflect.TypeFor[Number]():
		v.Set(reflect.ValueOf(n))
	case v.Kind() == reflect.Struct && v.Type().PkgPath() == reflect.TypeFor[Account]().PkgPath():
		for i := range v.NumField() {
			setNumbers(v.Field(i), n)
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			setNumbers(v.Index(i), n)
		}
	}
}

// TestStandIn_IsThePicturesOwn: equal pictures have equal drawings, and a thousand others hardly any; nothing of the
// address is in them.
func TestStandIn_IsThePicturesOwn(t *testing.T) {
	drawn := map[template.HTML]bool{}
	for i := range 1000 {
		picture := fmt.Sprintf(`https://cdn.test/"><script>%d`, i)
		d := standIn(picture)
		if d != standIn(picture) || strings.Contains(string(d), "script") || strings.Contains(string(d), "cdn") {
			t.Fatalf("%s", d)
		}
		drawn[d] = true
	}
	if len(drawn) < 990 {
		t.Errorf("1000 pictures have %d drawings", len(drawn))
	}
}
