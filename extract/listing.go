package extract

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// ErrNotFound means that the account has nothing under the requested ID, or that the API key may not see it: the body
// is an error in the service's own form, with the code not_found. A 404 of any other form is [ErrContract].
var ErrNotFound = errors.New("not found")

// Listing is the result of a walk over a list: each ID once, newest first.
type Listing struct {
	Entities []Entity
	// Complete reports that the listing has every entry that existed from the first page to the last. Only then does
	// the absence of an entry mean anything.
	Complete bool
	Why      string // why the listing is not complete
}

// The bounds of a list. The first two come from the service's description.
const (
	listLimit = 100
	maxOffset = 10_000

	maxRestarts = 3 // how often a list is read again if it changed during the walk, or has an unrecognized entry
)

// lister reads one list to its end, and proves that it skipped no entry.
//
// The list is newest first and is read by offset, so its entries may shift while it is read. If an entry is created,
// the entries after it shift down, and one of them comes again on the next page. If an entry is deleted, the entries
// after it shift up, and one of them is skipped. That is worse, because an entry that is skipped twice counts as
// deleted. So each page starts with the last entry of the previous page: the offset advances by one less than a page.
// As long as that entry is found again, anywhere on the page, no entry before it was skipped. If that entry is not
// found, the list is read again. The overlap costs one request in a hundred. Reading every list twice would double the
// requests and prove less.
//
// The end of a list is proven by a page without any entry except the repeated one. If the reply states a total, a page
// that is not full proves the end, too, as soon as the number of entries read reaches the total.
//
// The lister cannot detect that an entry changes its place in the order. A list that is too long for offsets is read
// status by status. In such a list, the lister detects that an entry changes its status only if the service states the
// total of the whole list.
type lister struct {
	c        *Client
	resource resource
	about    subject
	what     string // "campaigns", for errors
	path     string
	statuses []string
}

// passage is the result of one walk over the pages of a list.
type passage struct {
	entities []Entity
	seen     map[string]bool
	total    int64  // the total that the latest page states; -1: it states none
	refused  string // the first unrecognized entry, and the reason
	end      walkResult
	why      string
}

type walkResult int

const (
	complete     walkResult = iota // every page overlaps the previous page, and the end is proven
	shifted                        // a page does not overlap the previous page
	endless                        // no end within the allowed offsets
	stuck                          // the same page came again
	unrecognized                   // an entry is not recognized
)

// list reads the entire list. A list that is too long for offsets is read status by status.
func (l *lister) list(ctx context.Context) (Listing, error) {
	p, err := l.untilStable(ctx, l.statuses)
	if err == nil && p.end == endless {
		p, err = l.byStatus(ctx, p)
	}
	if err != nil {
		return Listing{}, err
	}
	return Listing{Entities: p.entities, Complete: p.end == complete, Why: p.why}, nil
}

// byStatus reads the list one status at a time. It adds the entries to the given passage, the incomplete result of a
// walk over all statuses. If the service states the total of the whole list, the number of entries is compared with it.
func (l *lister) byStatus(ctx context.Context, all passage) (passage, error) {
	whys := []string{}
	for _, status := range l.statuses {
		p, err := l.untilStable(ctx, []string{status})
		if err != nil {
			return p, err
		}
		all.add(p.entities)
		if p.end != complete {
			whys = append(whys, status+": "+p.why)
		}
	}
	switch {
	case len(whys) > 0:
		all.why = strings.Join(whys, "; ")
	case int64(len(all.seen)) < all.total:
		all.why = fmt.Sprintf("%d of the %d that the service tells of", len(all.seen), all.total)
	default:
		all.end, all.why = complete, ""
	}
	return all, nil
}

// untilStable walks the list again if the list changed during the walk or has an unrecognized entry, at most
// [maxRestarts] times. If no walk is complete, it returns the entries that any of the walks saw.
func (l *lister) untilStable(ctx context.Context, statuses []string) (passage, error) {
	var before passage
	for restarts := 0; ; restarts++ {
		p, err := l.walk(ctx, statuses)
		if err != nil || p.end == complete {
			return p, err
		}
		p.add(before.entities)
		before = p
		if p.end != shifted && p.end != unrecognized || restarts == maxRestarts {
			return p, nil
		}
		l.c.log.Info("read the list again", "what", l.what, "statuses", strings.Join(statuses, ","), "reason", p.why)
	}
}

// walk reads the pages of the list, once.
func (l *lister) walk(ctx context.Context, statuses []string) (passage, error) {
	p := passage{seen: map[string]bool{}, total: -1}
	last := "" // the entry that the next page must contain
	for offset := 0; ; {
		part, err := l.page(ctx, statuses, offset, &p)
		if err != nil {
			return p, err
		}
		if last != "" && !slices.ContainsFunc(part.entries, func(e Entity) bool { return e.ID == last }) {
			p.end, p.why = shifted, fmt.Sprintf("the list moved while it was read: at offset %d %s is not found again",
				offset, last)
			return p, nil
		}
		before := len(p.seen)
		p.add(part.entries)
		if p.hasEnded(part, offset, len(p.seen) > before) {
			return p, nil
		}
		offset, last = part.next(offset)
	}
}

// hasEnded reports whether the walk ends with the page at the given offset, and records in p how it ended. The
// parameter news reports whether the page had entries that no earlier page had.
func (p *passage) hasEnded(part listPage, offset int, news bool) bool {
	n := part.shown
	switch {
	case n < listLimit && part.total >= 0 && int64(len(p.seen)) >= part.total, !news && n <= 1:
		if p.refused != "" {
			p.end, p.why = unrecognized, p.refused
		}
	case !news && p.refused != "":
		p.end, p.why = unrecognized, p.refused
	case !news:
		p.end, p.why = stuck, fmt.Sprintf("at offset %d the same entries come again", offset)
	case offset == maxOffset:
		p.end, p.why = endless, fmt.Sprintf("there is more behind offset %d, the last that may be asked for", maxOffset)
	default:
		return false
	}
	return true
}

// next returns the offset of the next page, and the ID of the entry that the next page must repeat. The ID is empty if
// the next page need not repeat an entry.
func (part listPage) next(offset int) (next int, last string) {
	switch n := part.shown; {
	case n == 1: // an overlap of one entry would leave the offset unchanged, so there is none
		return min(offset+1, maxOffset), ""
	case part.refused != "": // the last entry may be the unrecognized one
		return min(offset+n-1, maxOffset), ""
	default:
		return min(offset+n-1, maxOffset), part.entries[len(part.entries)-1].ID
	}
}

// page reads one page of the list.
func (l *lister) page(ctx context.Context, statuses []string, offset int, p *passage) (part listPage, err error) {
	s := l.resource.service
	query := url.Values{
		s.Text("paging.status"): {strings.Join(statuses, ",")}, s.Text("paging.limit"): {strconv.Itoa(listLimit)},
		s.Text("paging.offset"): {strconv.Itoa(offset)},
	}
	_, err = l.c.read(ctx, question{
		what: fmt.Sprintf("%s from %d", l.what, offset), path: l.path, query: query, about: l.about,
		accept: func(body []byte) (err error) {
			part, err = l.resource.list(body)
			return err
		},
	})
	if err != nil {
		return listPage{}, err
	}
	if part.refused != "" && p.refused == "" {
		p.refused = fmt.Sprintf("at offset %d %s", offset, part.refused)
	}
	p.total = part.total
	return part, nil
}

// add appends the entries whose IDs the passage does not contain yet.
func (p *passage) add(entries []Entity) {
	for _, e := range entries {
		if !p.seen[e.ID] {
			p.seen[e.ID] = true
			p.entities = append(p.entities, e)
		}
	}
}

// entity requests a creative, a campaign, or a part of a campaign. For path, the caller passes the NAME in a line
// paths.NAME of the service file. The last argument is the ID of the creative or the campaign.
func entity(ctx context.Context, c *Client, kind, path, id string) (Entity, error) {
	idKind := "campaign"
	if kind == KindCreative {
		idKind = kind
	}
	if !IsID(id) {
		return Entity{}, refuse(idKind, id)
	}
	return askFor(ctx, c, kind, id, kind+" "+id, c.service.Path(path, id))
}

// askFor requests one entity of a kind.
func askFor(ctx context.Context, c *Client, kind, id, what, path string) (e Entity, err error) {
	about := ofAccount
	if id != "" {
		about = ofEntity
	}
	_, err = c.read(ctx, question{what: what, path: path, about: about, accept: func(body []byte) (err error) {
		e, err = parseEntity(c.service, kind, id, body)
		return err
	}})
	return e, err
}

// refuse returns the error for a text that is not an ID. Such a text must not become part of a URL's path.
func refuse(what, id string) error {
	return &ReadError{What: what + " " + quote([]byte(id), 60), Reason: "this is not an ID of a " + what,
		Err: ErrContract}
}
