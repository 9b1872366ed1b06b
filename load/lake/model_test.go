package lake

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/apache/iceberg-go"

	"spendsync/load/manifest"
	"spendsync/schema"
)

// TestSlice_FollowsEverySequenceOfDays: days come, change, go and come back in 5,000 random
// sequences; now and then a commit finds a file of somebody else. After each commit the model of
// the lake must hold just what the store names, though only partitions whose hashes differ are
// looked at.
func TestSlice_FollowsEverySequenceOfDays(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	spec := specOf(schema.SpendDaily.Table)
	first := day("2026-09-28")
	sequences := 5_000
	if testing.Short() {
		sequences = 1_000
	}
	dir := t.TempDir()
	for range sequences {
		m := manifest.New()
		m.Generation = 1
		m.Of("acme")
		m.Of("beta")
		var lake []iceberg.ManifestEntry
		had := map[string]map[string]map[string]string{}
		for step := range 4 {
			for range 1 + r.IntN(3) {
				changeDay(r, m, first)
			}
			// The first month is closed, or open again where a clock was set back.
			m.PublishedAt = schema.InstantOf(time.Date(2026, 11, 1+r.IntN(60), 0, 0, 0, 0, time.UTC))
			w := want(t, dir, m, []*tableSpec{spec})
			reach := scope{accounts: map[string]bool{}, partitions: map[partition]bool{}}
			foreign := r.IntN(8) == 0
			for account := range m.Accounts {
				if foreign {
					reach.accounts[account] = true
				}
				was, is := had[account][spec.name], w.slices(account)[spec.name]
				for _, months := range []map[string]string{was, is} {
					for month := range months {
						if was[month] != is[month] {
							reach.partitions[partitionNamed(account, month)] = true
						}
					}
				}
				had[account] = w.slices(account)
			}
			if foreign && len(lake) > 0 { // the same file twice
				lake = append(lake, lake[0])
			}
			if foreign {
				lake = append(lake, entryOf(t, spec, file{table: spec.table, account: "acme", day: first},
					"x/y.parquet"))
			}
			lake = apply(t, spec, lake, reach, w.files[spec.name], fmt.Sprintf("%08x", step))
			checkModel(t, lake, w.files[spec.name])
		}
	}
}

// changeDay stores, restates or drops a day.
func changeDay(r *rand.Rand, m *manifest.Manifest, first schema.Date) {
	a := m.Accounts[[]string{"acme", "beta"}[r.IntN(2)]]
	d := first + schema.Date(r.IntN(8))
	path := manifest.PartPath(schema.SpendDaily.Table, "acme", d)
	if r.IntN(4) == 0 {
		delete(a.Files, path)
		return
	}
	a.Files[path] = &manifest.File{Kind: manifest.KindParquet, Table: "spend_daily", Day: d, Rows: int64(r.IntN(3)),
		SHA256: fmt.Sprintf("%012x", r.IntN(3)), RunID: "R"}
}

// apply does what a commit does to the entries of one manifest.
func apply(t *testing.T, spec *tableSpec, lake []iceberg.ManifestEntry, reach scope, partitions map[partition][]file,
	token string) []iceberg.ManifestEntry {
	l := &live{have: map[string]bool{}}
	keys := map[string]bool{}
	for c, files := range partitions {
		for _, f := range files {
			keys[f.key()] = keys[f.key()] || reach.holds(c)
		}
	}
	l.sort(lake, reach, keys)
	next := l.unchanged(lake)
	for _, f := range l.missing(reach, partitions) {
		next = append(next, entryOf(t, spec, f, "s3://b/spend_daily/"+f.object(token)))
	}
	return next
}

func entryOf(t *testing.T, spec *tableSpec, f file, path string) iceberg.ManifestEntry {
	c := spec.partitionOf(f)
	b, err := iceberg.NewDataFileBuilder(spec.parts, iceberg.EntryContentData, path, iceberg.ParquetFile,
		map[int]any{accountPartition: c.account, monthPartition: int32(c.month)}, nil, nil, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	id := int64(1)
	return iceberg.NewManifestEntry(iceberg.EntryStatusADDED, &id, nil, nil, b.Build())
}

func checkModel(t *testing.T, lake []iceberg.ManifestEntry, partitions map[partition][]file) {
	t.Helper()
	got, want := map[string]int{}, map[string]int{}
	for _, e := range lake {
		got[keyOf(e.DataFile().FilePath())]++
	}
	for _, files := range partitions {
		for _, f := range files {
			want[f.key()]++
		}
	}
	if !maps.Equal(got, want) {
		t.Fatalf("the lake has %v, the store %v", got, want)
	}
}
