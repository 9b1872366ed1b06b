package extract

import (
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// keyless is row i with a creative ID that is not a text: it has no identity.
func keyless(i int) string {
	return strings.Replace(line(i), fmt.Sprintf(`"C1000001-%03d"`, i), "true", 1)
}

// kept yields kept replies.
func kept(bodies ...string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, b := range bodies {
			if !yield([]byte(b), nil) {
				return
			}
		}
	}
}

// TestSpend_GathersEvidence: what a walk in pages of three rows hands to the judge of the day, and how many
// pages it asks for until it knows the end. It asks twice for a page behind the first that has no rows.
func TestSpend_GathersEvidence(t *testing.T) {
	rows := func(from, to int) []string { return lines(to)[from-1:] }
	sized := `"pagination":{"page":1,"page_size":3}`
	nothing := `{"columns":` + columnsJSON + `,"data":null,`
	for name, tc := range map[string]struct {
		pages []string
		read  int
		want  Evidence
	}{
		"all pages stated": {[]string{pageOf(rows(1, 3), placed(1, 3, 5, 2)), pageOf(rows(4, 5), placed(2, 3, 5,
			2))}, 2,
			Evidence{Rows: 5, Distinct: 5, Total: 5, Ended: true}},
		"a total that is reached before the last stated page": {[]string{pageOf(rows(1, 3), placed(1, 3, 6, 9)),
			pageOf(rows(4, 6), placed(2, 3, 6, 9))}, 3,
			Evidence{Rows: 6, Distinct: 6, Total: 6, Ended: true, Beyond: true}},
		"a total that is reached by a short page": {[]string{pageOf(rows(1, 3), placed(1, 3, 5, 9)),
			pageOf(rows(4, 5), placed(2, 3, 5, 9))}, 2, Evidence{Rows: 5, Distinct: 5, Total: 5, Ended: true}},
		"smaller pages than asked for": {[]string{pageOf(rows(1, 2), placed(1, 2, 4, 9)),
			pageOf(rows(3, 4), placed(2, 2, 4, 9))}, 3,
			Evidence{Rows: 4, Distinct: 4, Total: 4, Ended: true, Beyond: true}},
		"pages of one row": {[]string{pageOf(rows(1, 1), placed(1, 1, 2, 9)),
			pageOf(rows(2, 2), placed(2, 1, 2, 9))}, 3,
			Evidence{Rows: 2, Distinct: 2, Total: 2, Ended: true, Beyond: true}},
		"a size alone, short": {[]string{pageOf(rows(1, 2), sized)}, 1, Evidence{Rows: 2, Distinct: 2, Total: -1,
			Ended: true}},
		"a size alone, full": {[]string{pageOf(rows(1, 3), sized)}, 2, Evidence{Rows: 3, Distinct: 3, Total: -1,
			Ended: true, Beyond: true}},
		"a size of zero": {[]string{pageOf(rows(1, 2), `"pagination":{"page":1,"page_size":0}`)}, 2,
			Evidence{Rows: 2, Distinct: 2, Total: -1, Ended: true, Beyond: true}},
		"nothing stated": {[]string{pageOf(rows(1, 3), ""), pageOf(rows(4, 5), "")}, 2,
			Evidence{Rows: 5, Distinct: 5, Total: -1, Ended: true}},
		"a total of zero that becomes one": {[]string{pageOf(rows(1, 3), placed(1, 3, 0, 0)),
			pageOf(rows(4, 5), placed(2, 3, 5, 2))}, 2, Evidence{Rows: 5, Distinct: 5, Total: 5, Ended: true,
			Moved: "page 2: total changed from 0 to 5"}},
		"an empty page before the total": {[]string{pageOf(rows(1, 3), placed(1, 3, 8, 3)), pageOf(nil, placed(2, 3,
			8, 3))},
			2, Evidence{Rows: 3, Distinct: 3, Total: 8, Ended: true, Beyond: true, Short: "page 2: 0 rows"}},
		"a null page before the total": {[]string{pageOf(rows(1, 3), placed(1, 3, 8, 3)), nothing + placed(2, 3, 8,
			3) + "}"},
			2, Evidence{Rows: 3, Distinct: 3, Total: 8, Ended: true, Beyond: true,
				Short: "page 2: data is null: 0 rows"}},
		"rows that repeat on two pages": {[]string{pageOf([]string{line(1), line(2), line(1)}, placed(1, 3, 5, 2)),
			pageOf([]string{line(2), line(4)}, placed(2, 3, 5, 2))}, 2, Evidence{Rows: 5, Distinct: 3, Total: 5,
			Ended:   true,
			Repeats: `page 1: row 3 is there twice: "C1000001" "C1000001-001" "S1"`}},
		"rows without a key": {[]string{pageOf([]string{keyless(1), line(2), line(2)}, placed(1, 3, 3, 1))}, 2,
			Evidence{Rows: 3, Distinct: 2, Total: 3, Ended: true, Beyond: true,
				Repeats: `page 1: row 3 is there twice: "C1000001" "C1000001-002" "S2"`}},
		"rows that are none": {[]string{pageOf([]string{"7", line(2), line(2)}, placed(1, 3, 3, 1))}, 2,
			Evidence{Rows: 3, Distinct: 2, Total: 3, Ended: true, Beyond: true,
				Repeats: `page 1: row 3 is there twice: "C1000001" "C1000001-002" "S2"`}},
		"pages without any key": {[]string{pageOf([]string{keyless(1), keyless(2), keyless(3)}, placed(1, 3, 6, 2)),
			pageOf([]string{keyless(4), keyless(5), keyless(6)}, placed(2, 3, 6, 2))}, 3,
			Evidence{Rows: 6, Distinct: 6, Total: 6, Ended: true, Beyond: true}},
		"the same page without any key again": {[]string{pageOf([]string{keyless(1), keyless(2), keyless(3)},
			`"pagination":`+
				`{"page":1,"page_size":3,"total_rows":3,"total_pages":0}`)}, 2, Evidence{Rows: 3, Distinct: 3, Total: 3,
			Ended: true, Beyond: true}},
		"a total without rows that come": {[]string{pageOf(rows(1, 3), placed(1, 3, 3, 1)),
			pageOf(rows(4, 6), placed(2, 3, 3, 1)), pageOf(rows(7, 7), placed(3, 3, 3, 1))}, 3,
			Evidence{Rows: 7, Distinct: 7, Total: 3, Ended: true}},
		"a total without rows that come, which fill their page": {[]string{pageOf(rows(1, 3), placed(1, 3, 3, 1)),
			pageOf(rows(4, 6), placed(2, 3, 3, 1))}, 3,
			Evidence{Rows: 6, Distinct: 6, Total: 3, Ended: true, Beyond: true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := scripted(tc.pages...)
			var seen Evidence
			got, err := walk(t, newTestClient(t, s).Spend(t.Context(), testDay, 3, nil, &seen))
			if err != nil {
				t.Fatal(err)
			}
			check(t, "evidence", seen, tc.want)
			requests := tc.read
			if tc.read > 1 && len(got[len(got)-1].Items) == 0 {
				requests++
			}
			check(t, "requests", len(s.asked), requests)
			check(t, "pages handed on", len(got), tc.read)
		})
	}
	t.Run("another size is asked for than is given", func(t *testing.T) {
		s := scripted(pageOf(rows(1, 3), placed(1, 3, 6, 9)), pageOf(rows(4, 6), placed(2, 3, 6, 9)))
		var seen Evidence
		_, err := walk(t, newTestClient(t, s).Spend(t.Context(), testDay, 10, nil, &seen))
		check(t, "error", err, nil)
		check(t, "a full page of three is no end: requests", len(s.asked), 4)
	})
	for size, isEnd := range map[int]bool{3: false, 4: true} {
		t.Run(fmt.Sprintf("a page behind one of three rows is refused, asked for by %d", size), func(t *testing.T) {
			var seen Evidence
			n := 0
			c := newTestClient(t, roundTrip(countAnswers(&n, pageOf(rows(1, 3), ""))))
			_, err := walk(t, c.Spend(t.Context(), testDay, size, nil, &seen))
			check(t, "error", err, nil)
			check(t, "evidence", seen, Evidence{Rows: 3, Distinct: 3, Total: -1, Ended: isEnd, Beyond: true})
		})
	}
	for name, c := range map[string]struct {
		status   int
		requests int
		want     Evidence
	}{
		"is refused":         {400, 2, Evidence{Rows: 3, Distinct: 3, Total: 3, Ended: true, Beyond: true}},
		"is not there":       {404, 2, Evidence{Rows: 3, Distinct: 3, Total: 3, Ended: true, Beyond: true}},
		"is the last again":  {200, 2, Evidence{Rows: 3, Distinct: 3, Total: 3, Ended: true, Beyond: true}},
		"breaks the service": {500, 2, Evidence{Rows: 3, Distinct: 3, Total: 3, Ended: true, Beyond: true, Full: true}},
	} {
		t.Run("the page behind a full one "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, n := pageOf(rows(1, 3), placed(1, 3, 3, 1)), 0
				c2 := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
					if n++; n == 1 || c.status == 200 {
						return answerWith(200, first)
					}
					return answerWith(c.status, `{"error":"page out of range"}`)
				}))
				var seen Evidence
				_, err := walk(t, c2.Spend(t.Context(), testDay, 3, nil, &seen))
				check(t, "error", err, nil)
				check(t, "evidence", seen, c.want)
				check(t, "requests", n, c.requests)
				check(t, "the budget is used up", c2.breaker.left(true), c2.budget)
			})
		})
	}
	t.Run("the same keyless page for ever", func(t *testing.T) {
		same := pageOf([]string{keyless(1), keyless(2), keyless(3)}, placed(1, 3, 6, 9))
		var seen Evidence
		s := &report{rows: lines(3), twist: func(int, int, string) string { return same }}
		_, err := walk(t, newTestClient(t, s).Spend(t.Context(), testDay, 3, nil, &seen))
		check(t, "error", err, nil)
		check(t, "rows, as many as are stated", seen.Rows, 6)
	})
}

// TestSpend_LearnsHowLongAPageIs: where no size is stated, a page that is shorter than another one was is the last.
func TestSpend_LearnsHowLongAPageIs(t *testing.T) {
	s := scripted(pageOf(lines(3), ""), pageOf(lines(5)[3:], ""))
	c := newTestClient(t, s)
	for range 2 {
		s.asked = nil
		_, err := walk(t, c.Spend(t.Context(), testDay, 10, nil, &Evidence{}))
		check(t, "error", err, nil)
		check(t, "requests", len(s.asked), 2)
	}
}

// TestEvidence_SaysWhichPageWasEmpty beside the rows that are missing.
func TestEvidence_SaysWhichPageWasEmpty(t *testing.T) {
	e := Evidence{Rows: 6, Total: 8, Short: "page 3: 0 rows"}
	check(t, "error", e.whole("spend").Error(), "spend: 6 rows came, and the stated total is 8; page 3: 0 rows")
	e.Short = ""
	check(t, "error", e.whole("spend").Error(), "spend: 6 rows came, and the stated total is 8")
}

// TestSpend_NothingIsNothingOnlyIfSaid: a first page without rows and columns says in which way.
func TestSpend_NothingIsNothingOnlyIfSaid(t *testing.T) {
	for body, want := range map[string]string{
		`{"data":[]}`: "page 1: no rows, and neither",
		`{"columns":` + columnsJSON + `,"data":null}`: "page 1: data is null: no rows, and neither",
	} {
		_, err := walk(t, newTestClient(t, saying(body)).Spend(t.Context(), testDay, 3, nil, nil))
		wantError(t, err, ErrContract, want)
		check(t, "the refused reply", string(TakeReply(err)), body)
	}
	other := pageOf([]string{strings.Replace(line(1), "03-08", "03-09", 1)}, placed(1, 3, 1, 1))
	_, err := walk(t, newTestClient(t, saying(other)).Spend(t.Context(), testDay, 3, nil, nil))
	check(t, "the reply with a row of another day", string(TakeReply(err)), other)
}

// TestProveSpend_WalksKeptReplies as they would be walked if they came now, without a client.
func TestProveSpend_WalksKeptReplies(t *testing.T) {
	first := pageOf(lines(3), placed(1, 3, 5, 2)+`,"brand_new":1`)
	second := pageOf(lines(5)[3:], placed(2, 3, 5, 2))
	var seen Evidence
	got, err := walk(t, ProveSpend(nil, testDay, 3, kept(first, second), &seen))
	if err != nil || len(got) != 2 {
		t.Fatalf("%d pages, %v", len(got), err)
	}
	check(t, "sources", sources(got), "S1 S2 S3 S4 S5")
	check(t, "evidence", seen, Evidence{Rows: 5, Distinct: 5, Total: 5, Ended: true})
	for i, body := range []string{first, second} {
		check(t, "number", got[i].Number, i+1)
		check(t, "fingerprint", got[i].Fingerprint, Fingerprint(nil, []byte(body)))
		check(t, "bytes", got[i].Bytes, int64(len(body)))
	}
	if want := (UnknownKey{Path: "brand_new", Type: "number"}); !slices.Contains(got[0].Unknown, want) {
		t.Errorf("unknown keys %v", got[0].Unknown)
	}
	for rows, ended := range map[int]bool{2: true, 3: false} { // without pagination, in pages of three
		_, err := walk(t, ProveSpend(nil, testDay, 3, kept(pageOf(lines(rows), "")), &seen))
		check(t, "error", err, nil)
		check(t, "a short page is the last", seen.Ended, ended)
	}
	_, err = walk(t, ProveSpend(nil, testDay, 3, kept(first, `{"columns":7}`), &seen))
	wantError(t, err, ErrContract, "spend 2026-03-08 page 2: ")
	_, err = walk(t, ProveSpend(nil, testDay, 3, kept(`{"columns":7}`), &seen))
	wantError(t, err, ErrContract, "spend 2026-03-08 page 1: ")
	_, err = walk(t, ProveSpend(nil, testDay, 3, func(yield func([]byte, error) bool) { yield(nil, ErrAuth) }, &seen))
	wantError(t, err, ErrAuth, "page 1: ")
	_, err = walk(t, ProveSpend(nil, testDay+1, 3, kept(second), nil))
	if unproven, ok := errors.AsType[*UnprovenError](err); !ok || string(unproven.Reply) != second {
		t.Errorf("a reply of another day: %v", err)
	}
	if _, err = walk(t, ProveSpend(nil, testDay, 3, kept(first), nil)); err == nil {
		t.Error("the first of two pages is proven")
	}
}

// TestSpend_MayBeLeft: a caller that leaves a walk gets no further page, also where the first pages are the known ones.
func TestSpend_MayBeLeft(t *testing.T) {
	first := pageOf(lines(3), placed(1, 3, 5, 2))
	s := scripted(first, pageOf(lines(5)[3:], placed(2, 3, 5, 2)))
	known := &Known{Fingerprints: []string{Fingerprint(nil, []byte(first)), "other"},
		Body: func(int) ([]byte, error) { return []byte(first), nil }}
	for page, err := range newTestClient(t, s).Spend(t.Context(), testDay, 3, known, nil) {
		check(t, "error", err, nil)
		check(t, "page", page.Number, 1)
		break
	}
}
