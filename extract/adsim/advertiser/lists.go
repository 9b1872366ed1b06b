package advertiser

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"spendsync/extract/adsim/tree"
	"spendsync/extract/adsim/wire"
)

// listQuery contains the parameters of a list request.
type listQuery struct {
	statuses      []string
	limit, offset int
}

// listQuery parses the parameters of a list request. The slice statuses contains all possible statuses. If the request
// names no status, the result contains only the first of them; the second argument is how many.
func (c *call) listQuery(statuses []string, defaults int) (q listQuery, err error) {
	q.statuses = statuses[:defaults]
	if text := c.query.Get("status"); text != "" {
		q.statuses = strings.Split(text, ",")
		for i, status := range q.statuses {
			if !slices.Contains(statuses, status) || slices.Contains(q.statuses[:i], status) {
				return q, invalid("status", "expected each of %s at most once", strings.Join(statuses, ", "))
			}
		}
	}
	if q.limit, err = c.integer("limit", 25, 1, 100); err == nil {
		q.offset, err = c.integer("offset", 0, 0, 10_000)
	}
	return q, err
}

// integer returns the query parameter with the given name. The parameter must be an integer from least to most. If the
// request lacks the parameter, integer returns the given default.
func (c *call) integer(name string, unset, least, most int) (int, error) {
	text := c.query.Get(name)
	if text == "" {
		return unset, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, invalid(name, "expected an integer from %d to %d", least, most)
	}
	return n, nil
}

// one returns a reply with the single object v. In the body, the object is the value of the key singular. If singular
// is empty (for the key's info, the limits and the balance), the object itself is the body.
func one(singular string, v any) wire.Reply {
	if singular != "" {
		v = map[string]any{singular: v}
	}
	return wire.JSONReply(http.StatusOK, tree.Marshal(v))
}

// many returns the requested page of a list of n entries. In the body, plural is the key of the list. A fault may shift
// the beginning of the page.
func many(c *call, q listQuery, plural string, n int, entry func(i int) any) wire.Reply {
	list := tree.List()
	from := c.fault.From(q.offset)
	for i := from; i < min(from+q.limit, n); i++ {
		list.Values = append(list.Values, tree.Leaf(string(tree.Marshal(entry(i)))))
	}
	return wire.JSONReply(http.StatusOK, tree.Object(plural, list, "total", tree.Int(n), "limit", tree.Int(q.limit),
		"offset", tree.Int(q.offset)).Append(nil))
}

// orNull returns nil for the zero value, and a pointer to v otherwise. Nil becomes null in JSON.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
