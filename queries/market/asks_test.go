package market

import (
	"fmt"
	"strings"
	"testing"

	"spendsync/queries"
	"spendsync/schema/schematest"
)

// ask returns the rows of a ready question as of a morning, each as its verdict, campaign and source.
func (q *Questions) ask(t *testing.T, name string, day int) (rows [][3]string) {
	t.Helper()
	question, err := queries.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	sql := strings.NewReplacer("$campaign", "''", "$rows", "100000", "$days", "60", "now()",
		fmt.Sprintf("to_timestamp(%d)", at(day).Unix())).Replace(question.SQL)
	for _, row := range q.texts(t, "SELECT concat_ws(' ', verdict, campaign_id, source_id) FROM (\n"+sql+"\n)") {
		rows = append(rows, [3]string(strings.Fields(row)))
	}
	return rows
}

// truths are the pairs of a world by their names.
func (w *World) truths() map[[2]string]int {
	all := map[[2]string]int{}
	for i, p := range w.pairs {
		all[[2]string{fmt.Sprintf("c%02d", p.campaign), fmt.Sprintf("s%03d", p.source)}] = i
	}
	return all
}

// TestSourcesTurned_Turned counts how many of the named sources did turn, in that direction.
func TestSourcesTurned_Turned(t *testing.T) {
	q, err := NewQuestions(t.Context(), "source_window")
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	k := Usual
	k.Campaigns, k.Sources, k.History, k.Follow, k.SpendPerDay, k.Turn = 4, 80, 70, 1, 500, 0.2
	named, wrong, all := 0, 0, 0
	for seed := range uint64(max(1, *worlds)) {
		w := k.Draw(seed + 300)
		Play(w, Func(func(m *Morning) []bool { q.Sync(t.Context(), m); return m.Blocked }))
		if q.Err != nil {
			t.Fatal(q.Err)
		}
		pairs := w.truths()
		all += len(pairs)
		for _, row := range q.ask(t, "sources_turned", w.History) {
			named++
			rate := w.pairs[pairs[[2]string{row[1], row[2]}]].rate
			if first, last := rate[0], rate[len(rate)-1]; first == last || (last < first) != (row[0] == "worse") {
				wrong++
			}
		}
	}
	t.Logf("of %d sources %d are said to have turned, %d of them wrongly", all, named, wrong)
	if named < 1 || float64(wrong) > 0.1*float64(named) {
		t.Errorf("%d are named, %d of them wrongly", named, wrong)
	}
}

// TestBlockingHelped_ByTheTruth follows a tracker's rule, and counts what is said of its blocks.
func TestBlockingHelped_ByTheTruth(t *testing.T) {
	schematest.Long(t)
	q, err := NewQuestions(t.Context(), "source_judgement", "break_day")
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	k := Usual
	k.Campaigns, k.Sources, k.History, k.Follow, k.SpendPerDay, k.Turn = 4, 80, 30, 12, 400, 0
	said, wrong := map[string]int{}, map[string]int{}
	for seed := range uint64(max(1, *worlds)) {
		w := k.Draw(seed + 400)
		Play(w, Func(func(m *Morning) []bool {
			q.Sync(t.Context(), m)
			return Strict.Block(m)
		}))
		if q.Err != nil {
			t.Fatal(q.Err)
		}
		pairs := w.truths()
		for _, row := range q.ask(t, "blocking_helped", w.History+w.Follow-1) {
			said[row[0]]++
			earns := w.value(pairs[[2]string{row[1], row[2]}], 0) > 1
			if row[0] == "helped" && earns || row[0] == "hurt" && !earns {
				wrong[row[0]]++
			}
		}
	}
	t.Logf("said of blocks: %v, of them wrong: %v", said, wrong)
	if said["helped"] < 10 || float64(wrong["helped"]) > 0.1*float64(said["helped"]) {
		t.Errorf("%d blocks helped, %d of them wrongly", said["helped"], wrong["helped"])
	}
}
