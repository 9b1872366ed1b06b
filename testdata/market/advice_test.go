package market

import (
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"

	"spendsync/queries"
	"spendsync/schema/schematest"
)

var worlds = flag.Int("worlds", 0, "worlds of each kind to play; 0: a short play of small ones")

// kinds returns the kinds of accounts in the table of README.md.
func kinds() []Kind {
	half, twice := Usual, Usual
	half.Name, half.Worth = "worth half the target", 0.5
	twice.Name, twice.Worth = "worth twice the target", 2
	return []Kind{half, Usual, twice}
}

// changedKinds returns kinds whose distributions differ from the kinds for which the thresholds were chosen.
func changedKinds() []Kind {
	two, wide, narrow, small, quick := Usual, Usual, Usual, Usual, Usual
	two.Name, two.TwoKinds, two.OwnSpread = "two kinds of sources", true, 0.3
	wide.Name, wide.SharedSpread, wide.OwnSpread, wide.Volume, wide.Dead = "wider", 1, 0.8, 1.8, 0.25
	narrow.Name, narrow.SharedSpread, narrow.OwnSpread, narrow.Dead, narrow.Turn = "narrower", 0.3, 0.4, 0.05, 0
	small.Name, small.Campaigns, small.SpendPerDay = "small", 5, 60
	quick.Name, quick.AtOnce, quick.Turn, quick.New, quick.History = "quick, turning", 0.8, 0.25, 0.3, 45
	return []Kind{two, wide, narrow, small, quick}
}

// score is the result of one policy, summed over several worlds.
type score struct {
	name  string
	gain  float64               // profit in excess of the policy Nothing, in US dollars
	count [len(sourceKinds)]int // sources of each kind
	named [len(sourceKinds)]int // sources of each kind that are blocked at the end
}

// sourceKinds are the kinds of sources that are counted. A source of any kind but the first could spend at least ten
// targets over all days, and brings back less than 0.8 of its spend on the last day.
var sourceKinds = [...]string{"on target", "never converts", "brings back less than half", "half to 0.8", "turned bad",
	"new"}

// kindOf returns the index of a pair's kind in sourceKinds; -1: the pair is of no kind.
func (w *World) kindOf(p int) int {
	last, first, demand := w.value(p, w.History+w.Follow-1), w.value(p, 0), 0.0
	for _, d := range w.pairs[p].demand {
		demand += d
	}
	switch {
	case last >= 1 && last < 1.15:
		return 0
	case demand < 10*w.Target || last >= 0.8:
		return -1
	case w.pairs[p].demand[w.History-1] == 0:
		return 5
	case first >= 1:
		return 4
	case last < 0.05:
		return 1
	case last < 0.5:
		return 2
	}
	return 3
}

// play runs every policy in one world for each seed, and returns the scores of the policies and the gain of Oracle.
func play(t *testing.T, k Kind, seeds []uint64) (scores []score, oracle float64) {
	t.Helper()
	ours, err := NewQuestions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	policies := []struct {
		name string
		Policy
	}{{"ours", ours}, {"3 targets, above 1.5", Tracker}, {"3 targets, above 1", Strict}, {"empirical Bayes", Plain},
		{"pooled", Pooled}, {"oracle", Oracle}}
	scores = make([]score, len(policies))
	for _, seed := range seeds {
		w := k.Draw(seed)
		nothing, _ := Play(w, Nothing)
		for i, p := range policies {
			profit, blocked := Play(w, p.Policy)
			scores[i].name, scores[i].gain = p.name, scores[i].gain+profit-nothing
			for n := range w.pairs {
				if kind := w.kindOf(n); kind >= 0 {
					scores[i].count[kind]++
					if blocked[n] {
						scores[i].named[kind]++
					}
				}
			}
		}
		if ours.Err != nil {
			t.Fatal(ours.Err)
		}
	}
	return scores, scores[len(scores)-1].gain
}

// TestAdvice_EarnsWhatCanBeEarned compares the profit of the questions' advice with the profit of common rules.
func TestAdvice_EarnsWhatCanBeEarned(t *testing.T) {
	schematest.Long(t) // whole worlds for a month
	all, seeds := kinds(), []uint64{1}
	if *worlds > 0 {
		all, seeds = append(all, changedKinds()...), nil
		for s := range *worlds {
			seeds = append(seeds, uint64(s)+100)
		}
	} else {
		for i := range all {
			all[i].Campaigns, all[i].Sources, all[i].History, all[i].Follow = 4, 60, 28, 14
		}
	}
	t.Logf("| worlds | policy | gain in $ | of the oracle's | blocked: %s |", strings.Join(sourceKinds[:], " | "))
	total, tracker, best := 0.0, 0.0, 0.0
	for _, k := range all {
		scores, oracle := play(t, k, seeds)
		for _, s := range scores {
			line := fmt.Sprintf("| %s | %s | %.0f | %.2f |", k.Name, s.name, s.gain, s.gain/oracle)
			for i := range sourceKinds {
				line += fmt.Sprintf(" %d of %d |", s.named[i], s.count[i])
			}
			t.Log(line)
		}
		total, tracker, best = total+scores[0].gain/oracle, tracker+scores[1].gain/oracle, best+1
		if scores[0].gain <= scores[1].gain {
			t.Errorf("%s: the advice earns %.0f, the trackers' rule %.0f", k.Name, scores[0].gain, scores[1].gain)
		}
	}
	if total < 0.7*best {
		t.Errorf("the advice earns %.2f of what an oracle does", total/best)
	}
	t.Logf("ours %.2f, the trackers' rule %.2f of the oracle's gain", total/best, tracker/best)
}

// TestAdvice_LeavesSourcesOnTargetAlone follows the advice in worlds in which every source is exactly on target.
func TestAdvice_LeavesSourcesOnTargetAlone(t *testing.T) {
	schematest.Long(t)
	k := Usual
	k.Campaigns, k.Sources, k.Follow = 5, 60, 3
	k.SharedSpread, k.OwnSpread, k.Dead, k.Turn, k.CampaignSpread = 0, 0, 0, 0, 0
	ours, err := NewQuestions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	named, all := 0, 0
	for seed := range uint64(max(3, *worlds)) {
		_, blocked := Play(k.Draw(seed+50), ours)
		if ours.Err != nil {
			t.Fatal(ours.Err)
		}
		for _, is := range blocked {
			if all++; is {
				named++
			}
		}
	}
	t.Logf("%d of %d sources on target are named", named, all)
	if float64(named) > 0.03*float64(all) {
		t.Errorf("%d of %d sources on target are named", named, all)
	}
}

// TestAdvice_OfAStricterTargetBlocksNoLess raises the worth of a conversion step by step: each list of sources to block
// must contain the next list.
func TestAdvice_OfAStricterTargetBlocksNoLess(t *testing.T) {
	schematest.Long(t)
	q, err := NewQuestions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	k := Usual
	k.Campaigns, k.Sources, k.History, k.Follow = 4, 60, 30, 1
	Play(k.Draw(4), Func(func(m *Morning) []bool { q.Sync(t.Context(), m); return m.Blocked }))
	var before map[[2]int]bool
	for i, worth := range []float64{10, 15, 19.5, 19.8, 20, 25, 40, 80} {
		q.exec(t.Context(), fmt.Sprintf("UPDATE main.campaign_history SET target_cpa = %g", worth))
		q.renew(t.Context())
		named := map[[2]int]bool{}
		for _, key := range q.keys(t.Context(), "SELECT campaign_id, source_id FROM mart.source_block_candidates") {
			named[key] = true
			if i > 0 && !before[key] {
				t.Errorf("%v is named at %g, but not at a stricter target", key, worth)
			}
		}
		t.Logf("at %g: %d", worth, len(named))
		if i == 0 && len(named) < 10 {
			t.Errorf("at the strictest target only %d are named", len(named))
		}
		before = named
	}
	if q.Err != nil {
		t.Fatal(q.Err)
	}
}

// held counts intervals by whether the true value is within, below or above the interval.
type held struct{ within, below, above int }

func (h *held) count(low, truth, high float64) {
	switch {
	case truth < low:
		h.below++
	case truth > high:
		h.above++
	default:
		h.within++
	}
}

func (h *held) add(o held) {
	h.within, h.below, h.above = h.within+o.within, h.below+o.below, h.above+o.above
}

func (h held) all() int { return h.within + h.below + h.above }

func (h held) String() string {
	return fmt.Sprintf("%d of %d (%.2f; %d below, %d above)", h.within, h.all(),
		float64(h.within)/float64(max(1, h.all())), h.below, h.above)
}

// intervals counts the intervals of one morning, by their subject.
type intervals struct{ sources, turned, campaigns, months held }

// intervalsOf counts the intervals of the first morning with advice. It counts a source only if its spend exceeds the
// worth of a conversion. Sources whose rate changed before that morning are counted in turned.
func (q *Questions) intervalsOf(t *testing.T, w *World) (all intervals) {
	t.Helper()
	var last *Morning
	Play(w, Func(func(m *Morning) []bool {
		if last = m; m.Day == w.History {
			q.Sync(t.Context(), m)
		}
		return m.Blocked
	}))
	if q.Err != nil {
		t.Fatal(q.Err)
	}
	pairs, now := w.truths(), w.History
	spent, due := make([]float64, w.Campaigns), make([]float64, w.Campaigns)
	for i, p := range w.pairs {
		for d := now - 30; d < now; d++ {
			spent[p.campaign] += last.Spend[i][d]
			due[p.campaign] += last.Spend[i][d] * p.rate[d]
		}
	}
	for _, r := range q.bounds(t, "SELECT campaign_id, source_id, coalesce(cpa_expected_low, 0), "+
		"coalesce(cpa_expected_high, 1e12) FROM int.source_judgement WHERE evidence_spend > worth") {
		rate, of := w.pairs[pairs[r.key]].rate, &all.sources
		if rate[now] != rate[0] {
			of = &all.turned
		}
		of.count(r.low, 1/rate[now], r.high)
	}
	for _, r := range q.bounds(t, "SELECT campaign_id, '', cpa_best_case, coalesce(cpa_worst_case, 1e12) FROM "+
		"mart.campaign_performance") {
		var c int
		if _, err := fmt.Sscanf(r.key[0], "c%d", &c); err != nil {
			t.Fatal(err)
		}
		all.campaigns.count(r.low, spent[c]/due[c], r.high)
	}
	month, err := queries.Find("month")
	if err != nil {
		t.Fatal(err)
	}
	question := strings.ReplaceAll(month.SQL, "now()", fmt.Sprintf("to_timestamp(%d)", at(now).Unix()))
	for _, r := range q.bounds(t, "SELECT month::VARCHAR, '', spend_at_end_low::DOUBLE, spend_at_end_high::DOUBLE "+
		"FROM (\n"+question+"\n)") {
		spend := 0.0
		for d := range last.Day {
			if date(d)[:7] == r.key[0][:7] {
				for i := range w.pairs {
					spend += last.Spend[i][d]
				}
			}
		}
		all.months.count(r.low, spend, r.high)
	}
	return all
}

// TestBounds_HoldWhatTheySay counts how often the true value is within an interval of 90 %.
func TestBounds_HoldWhatTheySay(t *testing.T) {
	schematest.Long(t)
	q, err := NewQuestions(t.Context(), "source_judgement", "campaign_performance")
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	few := Usual
	few.Campaigns, few.Sources, few.Turn, few.Follow = 6, 100, 0, 6
	all, seeds, slack := []Kind{few}, max(2, *worlds), 0.05
	if *worlds > 0 {
		all, slack = append(kinds(), changedKinds()...), 0.02
	}
	t.Log("| worlds | CPA of sources | of those that turned | CPA of campaigns | spend at the month's end |")
	var sum intervals
	for _, k := range all {
		var of intervals
		for seed := range uint64(seeds) {
			w := q.intervalsOf(t, k.Draw(seed+900))
			of.sources.add(w.sources)
			of.turned.add(w.turned)
			of.campaigns.add(w.campaigns)
			of.months.add(w.months)
		}
		t.Logf("| %s | %v | %v | %v | %v |", k.Name, of.sources, of.turned, of.campaigns, of.months)
		sum.sources.add(of.sources)
		sum.turned.add(of.turned)
		sum.campaigns.add(of.campaigns)
		sum.months.add(of.months)
	}
	t.Logf("| all | %v | %v | %v | %v |", sum.sources, sum.turned, sum.campaigns, sum.months)
	if share := float64(sum.sources.within) / float64(sum.sources.all()); math.Abs(share-0.9) > slack {
		t.Errorf("%.3f of the sources are within bounds of 90 %%", share)
	}
	if float64(sum.campaigns.within) < 0.75*float64(sum.campaigns.all()) {
		t.Errorf("%v of the campaigns are within bounds of 90 %%", sum.campaigns)
	}
}

type bounds struct {
	key       [2]string
	low, high float64
}

func (q *Questions) bounds(t *testing.T, question string) (all []bounds) {
	t.Helper()
	rows, err := q.db.QueryContext(t.Context(), question)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var b bounds
		if err := rows.Scan(&b.key[0], &b.key[1], &b.low, &b.high); err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// truths maps the IDs of a campaign and a source to the index of their pair.
func (w *World) truths() map[[2]string]int {
	all := map[[2]string]int{}
	for i, p := range w.pairs {
		all[[2]string{fmt.Sprintf("c%02d", p.campaign), fmt.Sprintf("s%03d", p.source)}] = i
	}
	return all
}
