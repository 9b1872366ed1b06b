package market

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"spendsync/queries"
	"spendsync/schema/schematest"
)

// ruleDays is the number of mornings on which the tests of rule_on_the_past decide.
const ruleDays = 28

// pastRule returns the SQL of rule_on_the_past with a rule. The second result is a function: it returns a query for the
// rows of one step (a CTE) of the part that decides.
func pastRule(t *testing.T, rule string) (question string, step func(name string) string) {
	t.Helper()
	q, err := queries.Find("rule_on_the_past")
	if err != nil {
		t.Fatal(err)
	}
	question = q.WithConditions(map[string]string{"rule": rule})
	for name, value := range map[string]string{"days": fmt.Sprint(ruleDays), "window": "30", "campaign": "''"} {
		question = strings.ReplaceAll(question, "$"+name, value)
	}
	deciding, _, ok := strings.Cut(question, "\nafter AS (") // the first step that looks back
	end := strings.LastIndex(deciding, "),\n")               // the end of the step before, which a comment may follow
	if !ok || end < 0 {
		t.Fatal("the question has no step after, which looks back")
	}
	deciding = deciding[:end+1]
	return question, func(name string) string { return deciding + "\nSELECT * FROM " + name }
}

// pastWorld plays a world in which nothing is blocked, and stores its last morning.
func (q *Questions) pastWorld(t *testing.T, seed uint64, decide func(m *Morning)) (w *World, last *Morning) {
	t.Helper()
	k := Usual
	k.Campaigns, k.Sources, k.History, k.Follow = 4, 60, 31, 30
	w = k.Draw(seed)
	Play(w, Func(func(m *Morning) []bool {
		if decide(m); m.Day == k.History+k.Follow-1 {
			q.Sync(t.Context(), m)
			last = m
		}
		return m.Blocked
	}))
	if q.Err != nil {
		t.Fatal(q.Err)
	}
	return w, last
}

// TestRuleOnThePast_PredictsWhatItSaves applies two rules in Go to the numbers that were known on each morning. It
// computes from the true rates how much blocking from the next day on would have saved. The question must block the
// same sources, and its interval of 90 % must contain the true amount.
func TestRuleOnThePast_PredictsWhatItSaves(t *testing.T) {
	schematest.Long(t)
	q, err := NewQuestions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	rules := []struct {
		text  string
		holds func(spend, told, worth float64) bool
	}{
		{"spend > 2 * worth AND conversions = 0", func(spend, told, worth float64) bool {
			return spend > 2*worth && told == 0
		}},
		{"spend >= 1.5 * worth AND spend > 1.3 * worth * conversions", func(spend, told, worth float64) bool {
			return spend >= 1.5*worth && spend > 1.3*worth*told
		}},
	}
	within, all := make([]int, len(rules)), max(8, 5**worlds)
	for seed := range uint64(all) {
		blocked := make([]map[int]int, len(rules)) // for each rule, the morning on which it blocks a pair
		for i := range rules {
			blocked[i] = map[int]int{}
		}
		w, last := q.pastWorld(t, seed+3900, func(m *Morning) {
			if m.Day >= m.World.History+m.World.Follow-1-1 { // the last complete day has no day after it
				return
			}
			for p := range m.World.pairs {
				spend, told := sums(m, p, 30)
				for i, r := range rules {
					if _, is := blocked[i][p]; !is && r.holds(spend, told, m.World.Target*m.World.Worth) {
						blocked[i][p] = m.Day
					}
				}
			}
		})
		truth := func(blocked map[int]int) (spent, saved float64) {
			for p, from := range blocked {
				for d := from + 1; d < last.Day; d++ {
					spent += last.Spend[p][d]
					saved += last.Spend[p][d] * (1 - w.value(p, d))
				}
			}
			return spent, saved
		}
		for i, r := range rules {
			spent, saved := truth(blocked[i])
			question, _ := pastRule(t, r.text)
			var sources int
			var spend, told, low, high float64
			if err := q.db.QueryRowContext(t.Context(), "SELECT a.sources_blocked, a.spend_saved::DOUBLE, "+
				"a.saved::DOUBLE, a.saved_low::DOUBLE, a.saved_high::DOUBLE FROM (\n"+question+"\n) AS a "+
				"WHERE starts_with(a.rule, 'yours: ')").Scan(&sources, &spend, &told, &low, &high); err != nil {
				t.Fatal(err)
			}
			if sources != len(blocked[i]) || spend-spent > 1e-4 || spent-spend > 1e-4 {
				t.Errorf("world %d, %s: %d sources blocked that spent %.6f later, want %d and %.6f", seed, r.text,
					sources, spend, len(blocked[i]), spent)
			}
			if low <= saved && saved <= high {
				within[i]++
			}
			if low > told || told > high {
				t.Errorf("world %d, %s: %g is not in [%g, %g]", seed, r.text, told, low, high)
			}
		}
	}
	least := map[bool]float64{true: 0.85, false: 0.7}[all >= 100] * float64(all)
	for i, n := range within {
		t.Logf("%s: the true saving is within the interval in %d of %d", rules[i].text, n, all)
		if float64(n) < least {
			t.Errorf("%s: the true saving is within the interval in %d of %d", rules[i].text, n, all)
		}
	}
}

// TestRuleOnThePast_DoesNotLookAhead changes everything that became known after a morning: restatements, later days and
// settings. The decisions until that morning must stay the same, and later decisions must change.
func TestRuleOnThePast_DoesNotLookAhead(t *testing.T) {
	schematest.Long(t)
	q, err := NewQuestions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	const morning = 45
	w, _ := q.pastWorld(t, 3990, func(*Morning) {})
	_, step := pastRule(t, "spend > 1.2 * worth * (conversions + 1)")
	decisions := func(sign string) []string {
		return q.texts(t, "SELECT (place, campaign_id, source_id, blocked_on)::VARCHAR FROM ("+step("decided")+
			") WHERE blocked_on "+sign+" DATE '"+date(morning)+"'")
	}
	// The numbers that the question uses for a morning equal the numbers of the macro spend_known_at for its noon.
	for _, day := range []int{w.History + 3, morning, w.History + 27} {
		known := q.texts(t, "SELECT (campaign_id, source_id, spend::DECIMAL(18,6), conversions::BIGINT)::VARCHAR "+
			"FROM ("+step("known")+") WHERE decided_on = DATE '"+date(day)+"'")
		macro := q.texts(t, fmt.Sprintf(`SELECT (campaign_id, source_id, sum(spend)::DECIMAL(18,6),
			sum(conversions)::BIGINT)::VARCHAR FROM main.spend_known_at(make_timestamptz(%d))
			WHERE is_exact AND report_date >= DATE '%s' GROUP BY campaign_id, source_id`, at(day).UnixMicro(),
			date(day-30)))
		if !slices.Equal(known, macro) || len(known) < 50 {
			t.Errorf("morning %d: %d sources known, %d by spend_known_at, or others", day, len(known), len(macro))
		}
	}
	before, later := decisions("<="), decisions(">")
	noon := fmt.Sprintf("make_timestamptz(%d)", at(morning).UnixMicro())
	for _, statement := range []string{
		`CREATE OR REPLACE TEMP TABLE first AS SELECT report_date, campaign_id, source_id,
			arg_min(old_conversions, seen_at) AS was FROM main.spend_change WHERE seen_at > ` + noon + ` GROUP BY ALL`,
		"DELETE FROM main.spend_change WHERE seen_at > " + noon,
		`INSERT INTO main.spend_change BY NAME SELECT 'acme' AS account_id, s.report_date, s.campaign_id,
			'k' AS creative_id, s.source_id, 'update' AS op,
			make_timestamptz(` + fmt.Sprint(at(morning+1).UnixMicro()) + `) AS seen_at,
			s.spend AS old_spend, s.spend * 2 AS new_spend, coalesce(f.was, s.conversions) AS old_conversions,
			coalesce(f.was, s.conversions) + 9 AS new_conversions, 'r1' AS _run_id FROM main.spend_daily AS s LEFT JOIN
			temp.first AS f USING (report_date, campaign_id, source_id)
			WHERE s.report_date < DATE '` + date(morning) + "'",
		`UPDATE main.spend_daily AS s SET spend = c.new_spend, conversions = c.new_conversions
			FROM main.spend_change AS c WHERE c.report_date = s.report_date
			AND c.campaign_id = s.campaign_id AND c.source_id = s.source_id AND c.seen_at > ` + noon,
		"UPDATE main.spend_daily SET spend = spend * 3, conversions = 0 WHERE report_date >= DATE '" +
			date(morning) + "'",
		"UPDATE main.campaign_history SET valid_to = " + noon + " + INTERVAL 1 hour",
		`INSERT INTO main.campaign_history SELECT * REPLACE (2 AS version_no, valid_to AS valid_from,
			1 AS target_cpa, '9999-12-31 00:00:00+00'::TIMESTAMPTZ AS valid_to) FROM main.campaign_history`,
	} {
		q.exec(t.Context(), statement)
	}
	if q.Err != nil {
		t.Fatal(q.Err)
	}
	if after := decisions("<="); !slices.Equal(before, after) || len(before) < 10 {
		t.Errorf("decisions until the morning: %d before, %d after what was known later was rewritten, or others",
			len(before), len(after))
	}
	if slices.Equal(later, decisions(">")) {
		t.Error("the decisions after it are the same, too: nothing was rewritten")
	}
}

// TestRuleOnThePast_NothingSavesNothing tests a rule that is never true, and a rule that is always true.
func TestRuleOnThePast_NothingSavesNothing(t *testing.T) {
	schematest.Long(t)
	q, err := NewQuestions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	_, last := q.pastWorld(t, 3991, func(*Morning) {})
	answer := func(rule string) []string {
		question, _ := pastRule(t, rule)
		return q.texts(t, "SELECT (sources_blocked, spend_saved, conversions_lost, saved, saved_low, saved_high, "+
			"verdict)::VARCHAR FROM (\n"+question+"\n) WHERE starts_with(rule, 'yours: ')")
	}
	if got := answer("spend < 0"); fmt.Sprint(got) != "[(0, 0.000000, 0.0, 0.00, 0.00, 0.00, blocks_nothing)]" {
		t.Errorf("a rule that never holds: %v", got)
	}
	spent := 0.0
	for p := range last.Spend {
		first := slices.IndexFunc(last.Spend[p], func(s float64) bool { return s > 0 })
		for d := max(last.World.History, first+1) + 1; first >= 0 && d < last.Day; d++ {
			spent += last.Spend[p][d]
		}
	}
	if got := answer("true"); !strings.Contains(fmt.Sprint(got), fmt.Sprintf(", %.6f, ", spent)) {
		t.Errorf("a rule that always holds: %v, want %.6f saved", got, spent)
	}
}

// texts returns the values of a query with one column, sorted.
func (q *Questions) texts(t *testing.T, question string) (all []string) {
	t.Helper()
	rows, err := q.db.QueryContext(t.Context(), question)
	if err != nil {
		t.Fatalf("%v\n%s", err, question)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}
