package extract

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
)

// countAnswers answers the first questions with bodies, and refuses the others.
func countAnswers(n *int, bodies ...string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		if *n++; *n > len(bodies) {
			return answerWith(400, `{"error":"no such page"}`)
		}
		return answerWith(200, bodies[*n-1])
	}
}

// asksOnce walks one day, and returns the columns and page sizes that were asked for.
func asksOnce(t *testing.T, c *Client, asked *[]string) (got []string, err error) {
	t.Helper()
	*asked = nil
	_, err = walk(t, c.Spend(t.Context(), testDay, 0, nil, nil))
	return *asked, err
}

// refusing answers a question unless why gives a status and a text for its columns and page size.
func refusing(asked *[]string, why func(columns string, size int) (int, string)) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		q := r.URL.Query()
		size, _ := strconv.Atoi(q.Get("page_size"))
		*asked = append(*asked, fmt.Sprintf("%d columns by %d", strings.Count(q.Get("columns"), ",")+1, size))
		if status, text := why(q.Get("columns"), size); status != 0 {
			return answerWith(status, fmt.Sprintf(`{"error":%q}`, text))
		}
		return answerWith(200, pageOf(lines(2), placed(1, 500, 2, 1)))
	}
}

// TestAsk_OfAServerThatFailsOnLargePages: a 5xx is met by smaller pages, never by fewer columns.
func TestAsk_OfAServerThatFailsOnLargePages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		c := newTestClient(t, refusing(&asked, func(_ string, size int) (int, string) {
			if size > 2500 {
				return 500, "clicks: out of memory"
			}
			return 0, ""
		}), func(o *Options) { o.RetryBudget = 1 })
		got, err := asksOnce(t, c, &asked)
		check(t, "error", err, nil)
		check(t, "asked", strings.Join(slices.Compact(got), ", "), "9 columns by 10000, 9 columns by 5000, "+
			"9 columns by 2500")
		check(t, "kept", fmt.Sprint(c.Asked()), "{[] 2500}")
	})
}

// TestAsk_GivesUpOnce: if nothing less is answered, what was asked for before stands, and the next day asks for no
// less without success.
func TestAsk_GivesUpOnce(t *testing.T) {
	var asked []string
	c := newTestClient(t, refusing(&asked, func(string, int) (int, string) { return 400, "Bad Request" }))
	c.AskLess(Ask{PageSize: 5000})
	_, err := asksOnce(t, c, &asked)
	wantError(t, err, ErrContract, "Bad Request")
	check(t, "kept", fmt.Sprint(c.Asked()), "{[] 5000}")
	got, err := asksOnce(t, c, &asked)
	wantError(t, err, ErrContract, "Bad Request")
	check(t, "the next day", strings.Join(got, ", "), "9 columns by 5000")
	c.AskLess(Ask{}) // starts again
	if got, _ = asksOnce(t, c, &asked); len(got) < 3 {
		t.Errorf("asked anew: %q", got)
	}
}

// TestAsk_AnUnnamedRefusalOfManyColumnsIsDoubted as one of clicks is: if it passes, it costs no measure.
func TestAsk_AnUnnamedRefusalOfManyColumnsIsDoubted(t *testing.T) {
	var asked []string
	refused := 0
	c := newTestClient(t, refusing(&asked, func(columns string, _ int) (int, string) {
		if refused < 2 && strings.Count(columns, ",") > 3 {
			refused++
			return 400, "Bad Request"
		}
		return 0, ""
	}))
	got, err := asksOnce(t, c, &asked)
	check(t, "error", err, nil)
	check(t, "asked", strings.Join(got, ", "),
		"9 columns by 10000, 8 columns by 10000, 4 columns by 10000, 9 columns by 10000")
	check(t, "without", len(c.Asked().Without), 0)
}

// TestAsk_NamesWhatIsLeftOutInOneOrder, each column once, however it was found out: the store keeps this list.
func TestAsk_NamesWhatIsLeftOutInOneOrder(t *testing.T) {
	var asked []string
	c := newTestClient(t, refusing(&asked, func(columns string, _ int) (int, string) {
		for _, name := range []string{"impressions", "conversions", "campaign_name"} {
			if strings.Contains(columns, name) {
				return 400, "Unknown column: " + name
			}
		}
		return 0, ""
	}))
	_, err := asksOnce(t, c, &asked)
	check(t, "error", err, nil)
	check(t, "without", strings.Join(c.Asked().Without, " "), "campaign_name conversions impressions")
	check(t, "twice",
		strings.Join(Ask{Without: []string{"clicks"}}.without("clicks", "b", "b").Without, " "), "b clicks")
}

// TestAsk_WhatAReplyLeavesOutIsAskedForNoMore by the next day, also where a refusal that passed came before the reply.
func TestAsk_WhatAReplyLeavesOutIsAskedForNoMore(t *testing.T) {
	for _, refusals := range []int{0, 1} {
		var last string
		c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			if refusals > 0 {
				refusals--
				return answerWith(400, `{"error":"Bad Request"}`)
			}
			last = r.URL.Query().Get("columns")
			return answerWith(200, strings.Replace(pageOf(lines(2), placed(1, 500, 2, 1)), `,"conversions"]`, "]", 1))
		}))
		for _, want := range []bool{true, false} {
			if _, err := walk(t, c.Spend(t.Context(), testDay, 0, nil, nil)); err != nil {
				t.Fatal(err)
			}
			check(t, "conversions are asked for", strings.Contains(last, "conversions"), want)
			check(t, "clicks are asked for", strings.Contains(last, "clicks"), true)
		}
		check(t, "left out", strings.Join(c.Asked().Without, " "), "conversions")
	}
}

// TestAsk_TheKeysAreAlwaysAskedFor, whatever an earlier run has found to be left out.
func TestAsk_TheKeysAreAlwaysAskedFor(t *testing.T) {
	c := newTestClient(t, roundTrip(func(*http.Request) (*http.Response, error) { return answerWith(500, "") }))
	c.AskLess(Ask{Without: []string{"clicks", "creative_id", "source_id", "campaign_id", "total_spend"}})
	check(t, "left out", strings.Join(c.Asked().Without, " "), "clicks")
	check(t, "asked for", strings.Join(c.ask.current().columns(), " "), "date campaign_id campaign_name creative_id "+
		"source_id total_spend impressions conversions")
}

// TestAsk_OfDaysAtATime: a day whose question was refused while another one has found a lesser one asks that, and
// takes nothing more away; after nothing less was answered, it does not ask again.
func TestAsk_OfDaysAtATime(t *testing.T) {
	refusal := &ReadError{What: "spend", Reason: "Bad Request", Status: 400, Attempts: 1, Err: ErrContract}
	var k asking
	check(t, "the first day asks for less", k.refused(refusal, Ask{}, 0), true)
	less := fmt.Sprint(k.current())
	check(t, "the second day asks the same", k.refused(refusal, Ask{}, 0), true)
	check(t, "and no less", fmt.Sprint(k.current()), less)
	other := Ask{Without: k.now.Without, PageSize: 600}
	check(t, "another size is another question", k.refused(refusal, other, 0), true)
	check(t, "and takes nothing away", fmt.Sprint(k.current()), less)
	for k.refused(refusal, k.current(), 0) {
	}
	check(t, "what was asked for before stands", fmt.Sprint(k.current()), "{[] 0}")
	check(t, "the second day gives up, too", k.refused(refusal, Ask{Without: []string{"clicks"}}, 0), false)
	for _, status := range []int{401, 404, 499} {
		other := *refusal
		other.Status = status
		check(t, "a refusal with another status", new(asking).refused(&other, Ask{}, 0), false)
	}
}
