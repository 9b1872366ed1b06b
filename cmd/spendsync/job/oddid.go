package job

import (
	"fmt"
	"strings"

	"spendsync/transform"
)

// oddIDPath is where ops.unknown_field remembers that IDs of an odd form were reported.
func oddIDPath(odd transform.OddID) string { return "data[]." + odd.Column + ": " + odd.Form }

// logOddIDs reports the first ID of each form that the description does not give. The
// manifest remembers the forms among the unknown fields, so each is reported by one run.
func (r *run) logOddIDs(ids []transform.OddID) {
	for _, odd := range ids {
		r.s.Log.Warn("the report has an ID of a form that the description does not give; it is stored as it is",
			"column", odd.Column, "value", odd.Value, "form", odd.Form)
	}
}

// typeOf returns the JSON type of an ID.
func typeOf(value string) string {
	if strings.HasPrefix(value, `"`) {
		return "string"
	}
	return "number"
}

// foundOddIDs adds the forms of IDs that this run saw first.
func (t *outcome) foundOddIDs(ids []transform.OddID) {
	if len(ids) == 0 {
		return
	}
	const shown = 3
	var b strings.Builder
	b.WriteString("IDs of a new form, stored without the blanks around them and reported once:")
	for i, odd := range ids[:min(len(ids), shown)] {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, " %s %s (%s)", odd.Column, odd.Value, odd.Form)
	}
	if more := len(ids) - shown; more > 0 {
		fmt.Fprintf(&b, ", and %d more", more)
	}
	t.found(differs, nil, "%s", b.String())
}
