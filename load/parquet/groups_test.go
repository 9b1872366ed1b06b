package parquet

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/load/durable"
	"spendsync/schema"
)

func rule(campaign string, source, version int, bid int64) schema.SourceRule {
	return schema.SourceRule{AccountID: "acme", CampaignID: campaign, SourceID: fmt.Sprintf("S%05d", source),
		Rule: schema.RuleBid, RunID: "run", Bid: schema.Some(schema.Money(bid)), Frame: schema.Frame{
			VersionNo: int64(version), ValidTo: schema.Forever, IsCurrent: true, ChangeType: schema.FirstSeen,
			ReadState: schema.ReadOK}}
}

// written returns the bytes of a new file.
func written(t *testing.T, c cut, rows []schema.SourceRule) []byte {
	t.Helper()
	var b bytes.Buffer
	w := newGroupWriter(&b, schema.SourceRuleHistory, c)
	for i := range rows {
		if err := w.add(&rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := w.close(); err != nil || n != int64(len(rows)) {
		t.Fatalf("%d rows, %v; want %d", n, err, len(rows))
	}
	return b.Bytes()
}

// TestReplaceGroups_IsAsWritten: if the rows of some groups are replaced by random rows, the file has the same bytes as
// a new file with all rows, whichever row groups are copied.
func TestReplaceGroups_IsAsWritten(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	d := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), "rules.parquet")
	long := strings.Repeat("x", 190)
	copied, all := 0, 0
	for range 300 {
		c := cut{least: 1 + d.Int64N(40), most: 40 + d.Int64N(40)}
		group := func(name string) (rows []schema.SourceRule) {
			for i := range d.IntN(4) * d.IntN(30) {
				rows = append(rows, rule(name, i, 1, d.Int64N(100)))
			}
			return rows
		}
		is := map[string][]schema.SourceRule{}
		for range d.IntN(12) {
			name := fmt.Sprintf("%s%02d", long, d.IntN(30))
			is[name] = group(name)
		}
		flat := func() (rows []schema.SourceRule) {
			for _, group := range is {
				rows = append(rows, group...)
			}
			slices.SortFunc(rows, func(a, b schema.SourceRule) int {
				return cmp.Or(strings.Compare(a.CampaignID, b.CampaignID), strings.Compare(a.SourceID, b.SourceID))
			})
			return rows
		}
		if err := os.WriteFile(path, written(t, c, flat()), 0o666); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			news := map[string][]schema.SourceRule{}
			var names []string
			for range d.IntN(3) {
				name := fmt.Sprintf("%s%02d", long, d.IntN(30))
				if news[name] == nil {
					names = append(names, name)
				}
				if news[name] = group(name); d.IntN(2) == 0 && len(is[name]) > 0 { // one more or less, or another value
					news[name] = append(is[name][:len(is[name])-1:len(is[name])-1], news[name]...)
					for i := range news[name] {
						news[name][i].SourceID = fmt.Sprintf("S%05d", i)
					}
				}
				news[name] = append([]schema.SourceRule{}, news[name]...)
			}
			slices.Sort(names)
			var b bytes.Buffer
			w := newGroupWriter(&b, schema.SourceRuleHistory, c)
			if _, err := replaceGroups(w, durable.OS, path, names, func(name string, stored []schema.SourceRule) (
				[]schema.SourceRule, error) {
				if !slices.Equal(stored, is[name]) {
					t.Fatalf("%q: stored %v, want %v", name, stored, is[name])
				}
				is[name] = news[name]
				return news[name], nil
			}); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b.Bytes(), written(t, c, flat())) {
				t.Fatalf("cut %v: the bytes differ after replacing %q", c, names)
			}
			if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
			f, err := open(durable.OS, path, schema.SourceRuleHistory.Table)
			if err != nil {
				t.Fatal(err)
			}
			copied, all = copied+w.copied, all+len(f.parquet.RowGroups())
			f.close()
		}
	}
	t.Logf("%d of %d row groups were copied", copied, all)
	if copied < all/4 {
		t.Errorf("%d of %d row groups were copied", copied, all)
	}
}
