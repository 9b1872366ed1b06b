package extract

import (
	"errors"
	"net/http"
	"testing"
)

// TestProof_OfARefusedPage: a page that the service refuses ends the answer if all rows are there by what was said of
// them, shows that the answer moved if rows are missing, ends the walk and shows no end if nothing was said, and else
// is what it is: an error.
func TestProof_OfARefusedPage(t *testing.T) {
	refusal := func(status int) error {
		return &ReadError{What: "page 3", Reason: "no such page", Status: status, Err: ErrContract}
	}
	full := Evidence{Rows: 20, Distinct: 20, Total: 20, Ended: true, Full: true} // the page behind it is asked for
	for what, tc := range map[string]struct {
		seen           Evidence
		err            error
		ends, isMoved  bool
		isEnded, asked bool // afterwards: the end is shown, and a page behind it is still to be seen
	}{
		"no total": {seen: Evidence{Rows: 20, Distinct: 20, Total: -1}, err: refusal(404), ends: true},
		"all of the total": {seen: Evidence{Rows: 20, Distinct: 20, Total: 20}, err: refusal(400), ends: true,
			isEnded: true},
		"rows are missing": {seen: Evidence{Rows: 20, Distinct: 20, Total: 21}, err: refusal(404), ends: true,
			isMoved: true},
		"a row twice": {seen: Evidence{Rows: 21, Distinct: 20, Total: 21}, err: refusal(404), ends: true,
			isMoved: true},
		"behind a full page":           {seen: full, err: refusal(404), ends: true, isEnded: true},
		"an outage behind a full page": {seen: full, err: refusal(503), ends: true, isEnded: true, asked: true},
		"an outage":                    {seen: Evidence{Rows: 20, Distinct: 20, Total: 30}, err: refusal(500)},
		"an outage after a short page": {seen: Evidence{Rows: 20, Distinct: 20, Total: 20, Ended: true},
			err: refusal(500), isEnded: true},
		"no reply": {seen: Evidence{Rows: 20, Distinct: 20, Total: -1},
			err: &ReadError{What: "page 3", Reason: "cut", Err: ErrUnavailable}},
		"the key": {seen: full, err: &ReadError{What: "page 3", Status: http.StatusUnauthorized, Err: ErrAuth},
			isEnded: true, asked: true},
		"nothing came before": {seen: Evidence{Total: -1}, err: refusal(404)},
		"another error":       {seen: full, err: errors.New("the disk is full"), isEnded: true, asked: true},
	} {
		p := &proof[SpendLine]{seen: tc.seen}
		ends := p.refused(3, tc.err)
		if ends != tc.ends || p.done != tc.ends || (p.seen.Moved != "") != tc.isMoved || p.seen.Ended != tc.isEnded ||
			p.isBeyond() != tc.asked {
			t.Errorf("%s: it ends: %t, and %+v", what, ends, p.seen)
		}
	}
}
