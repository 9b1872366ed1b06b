package payouts

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"spendsync/schema"
)

// compare counts the rows and campaigns of an export that are the account's. It returns an error if none is.
func (r *reader) compare(ctx context.Context, f *file) (rows int, err error) {
	for _, kind := range []string{"campaign", "source"} {
		var n [5]int // rows, rows that match, IDs, IDs that match, IDs of the account
		example := ""
		for row, err := range r.db.Rows(ctx, fmt.Sprintf(`
			SELECT sum(rows), sum(rows) FILTER (k.id IS NOT NULL), count(*) FILTER (e.id <> ''), count(k.id),
				(SELECT count(*) FROM known WHERE kind = '%[1]s'), min(e.id) FILTER (k.id IS NULL AND e.id <> '')
			FROM (SELECT %[1]s AS id, count(*) AS rows FROM export WHERE file = %[2]d GROUP BY ALL) AS e
			LEFT JOIN known AS k ON k.kind = '%[1]s' AND k.id = e.id`, kind, f.id)) {
			if err != nil {
				return 0, err
			}
			for i := range n {
				n[i], _ = strconv.Atoi(row[i])
			}
			example = strings.Clone(row[5])
		}
		if rows = n[0]; n[2] == 0 || n[4] == 0 {
			continue
		}
		found := fmt.Sprintf("%d of %d rows are of %ss of this account, %d of %d %[3]ss match", n[1], n[0], kind, n[3],
			n[2])
		if n[3] == 0 {
			return 0, r.withHint(ctx, f, kind, fmt.Errorf("%s: %q is none; column %s seems to be the tracker's own, "+
				"and nothing of the export is stored", found, example, f.names[f.at[kind]]))
		}
		r.own.say("%s: %s", f.path, found)
	}
	return rows, nil
}

// withHint adds to an error which column of a file holds IDs of the account.
func (r *reader) withHint(ctx context.Context, f *file, kind string, err error) error {
	var cells []string
	for _, name := range f.names {
		cells = append(cells, fmt.Sprintf("{'name': %s, 'cell': %s}", schema.QuoteText(name), schema.Quote(name)))
	}
	best := ""
	for row, failed := range r.db.Rows(ctx, fmt.Sprintf(`SELECT name FROM (SELECT unnest([%s], max_depth := 2)
		FROM (FROM raw%d LIMIT 10000)) JOIN known ON kind = '%s' AND id = cell GROUP BY name ORDER BY count(*) DESC
		LIMIT 1`, strings.Join(cells, ", "), f.id, kind)) {
		if failed == nil {
			best = strings.Clone(row[0])
		}
	}
	switch {
	case best != "":
		return fmt.Errorf("%w; column %s fits: SPENDSYNC_TRACKER_COLUMNS with %s=%[2]s", err, best, kind)
	case (kind == "campaign" && r.Campaigns == nil) || (kind == "source" && r.Warehouse == ""):
		return err
	}
	return fmt.Errorf("%w; no column of the file holds %ss of this account: pass the service's %[2]s ID to the "+
		"tracker as a custom variable, and name its column (SPENDSYNC_TRACKER_COLUMNS, %[2]s=)", err, kind)
}

// compareCounts notes clicks and conversions that are far from what the service counts of the same campaigns on the
// same days: below half of them, or above one and a half times, where chance, bots and the edges of days explain less.
func (r *reader) compareCounts(ctx context.Context) error {
	if r.Warehouse == "" {
		return nil
	}
	for _, c := range []struct {
		what   string
		enough int
	}{{"clicks", 1000}, {"conversions", 50}} {
		for row, err := range r.db.Rows(ctx, fmt.Sprintf(`
			SELECT sum(ours)::BIGINT, sum(theirs)::BIGINT, (100 * sum(ours) / sum(theirs))::BIGINT
			FROM (SELECT whole(t.%[1]s) AS ours, any_value(s.%[1]s) AS theirs FROM tracker_row AS t
				JOIN service AS s USING (campaign, day) WHERE s.%[1]s > 0 GROUP BY campaign, day)
			WHERE ours IS NOT NULL
			HAVING sum(theirs) >= %[2]d AND sum(ours) / sum(theirs) NOT BETWEEN 0.5 AND 1.5`, c.what, c.enough)) {
			if err != nil {
				return err
			}
			why := "does the export have other rows than these campaigns and sources, or a column of something else?"
			if c.what == "clicks" && len(row[2]) < 3 {
				why = "are these the clicks on a landing page? Visits or clicks of the campaign's link are meant"
			}
			r.own.Notes["tracker.far-"+c.what] = fmt.Sprintf("the exports count %s %s where the service counts %s "+
				"(%s %%): %s", row[0], c.what, row[1], row[2], why)
		}
	}
	return nil
}
