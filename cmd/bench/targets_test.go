package main

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"time"
)

func TestAim_IsMissedOnItsSide(t *testing.T) {
	for _, c := range []struct {
		aim    aim
		figure float64
		missed bool
		text   string
	}{
		{atMost(0.35), 0.30, false, "<= 0.35"},
		{atMost(0.35), 0.35, false, "<= 0.35"},
		{atMost(0.35), 0.351, true, "<= 0.35"},
		{atLeast(2.5), 2.6, false, ">= 2.50"},
		{atLeast(2.5), 2.5, false, ">= 2.50"},
		{atLeast(2.5), 2.49, true, ">= 2.50"},
		{atMost(256), 256.2, true, "<= 256.0"},
	} {
		if c.aim.missed(c.figure) != c.missed || c.aim.String() != c.text {
			t.Errorf("%v against %s: missed is %v, want %v, %s", c.figure, c.aim, !c.missed, c.missed, c.text)
		}
	}
}

// sampleTable is a table in which each figure of a row is told from the others'.
func sampleTable(rows map[string]measurement) *table {
	t := &table{}
	for name, m := range rows {
		t.add(name, m)
	}
	return t
}

func TestResults_AreOfRowsThatWereMeasured(t *testing.T) {
	results := sampleTable(map[string]measurement{
		firstLoad:         {cpu: 10 * time.Second, wall: 6 * time.Second, bytes: 50},
		duckdbAlone:       {cpu: 8 * time.Second, wall: 12 * time.Second, bytes: 100},
		unchanged:         {cpu: 1 * time.Second, wall: 5 * time.Second},
		decodeOnly:        {cpu: time.Second, rate: 450},
		decodeStrict:      {cpu: time.Second, rate: 200},
		unchangedSettings: {requests: 914},
		naiveSettings:     {requests: 3013},
		intoHistory:       {cpu: time.Second}, // but none into the empty warehouse
	}).results()
	want := []result{
		{"first load, CPU against DuckDB alone", 1.25, atMost(0.8)},
		{"first load, wall against DuckDB alone", 0.5, atMost(0.7)},
		{"unchanged, CPU against the first load", 0.1, atMost(0.25)},
		{"Parquet, bytes against DuckDB's", 0.5, atMost(0.8)},
		{"decoding, MB/s against strict jsontext", 2.25, atLeast(2.5)},
		{"unchanged account, API requests against no memory", 914.0 / 3013, atMost(0.35)},
	}
	if !slices.Equal(results, want) {
		t.Errorf("got %v\nwant %v", results, want)
	}
}

func TestGrowth_IsOfSizesTenTimesApart(t *testing.T) {
	load := func(rows int, cpu time.Duration) sizedTable {
		return sizedTable{rows, sampleTable(map[string]measurement{firstLoad: {cpu: cpu}})}
	}
	got := growth([]sizedTable{load(1_000_000, 8*time.Second), load(3_200_000, 30*time.Second),
		load(98_000, time.Second)})
	if len(got) != 1 || got[0].what != "ten times the rows, CPU of the first load (98000, 1000000)" ||
		got[0].aim != atMost(10.5) {
		t.Fatalf("got %v", got)
	}
	// 8 times the CPU for 10.2 times the rows.
	if want := 7.84; math.Abs(got[0].figure-want) > 1e-9 {
		t.Errorf("got %v, want %v", got[0].figure, want)
	}
	if got := growth([]sizedTable{load(100_000, time.Second), load(800_000, time.Second),
		load(1_200_000, time.Second)}); len(got) != 0 {
		t.Errorf("eight and twelve times are not ten: %v", got)
	}
}

func TestMemory_IsHeldAgainstTheAimOfItsSize(t *testing.T) {
	peak := func(mib int64) *table { return sampleTable(map[string]measurement{firstLoad: {rss: mib << 20}}) }
	for _, rows := range []int{3_100_000, 9_700_000} {
		for mib, missed := range map[int64]bool{380: false, 390: true} {
			got := memory(sizedTable{rows, peak(mib)})
			if len(got) != 1 || got[0].figure != float64(mib) || got[0].aim.missed(got[0].figure) != missed {
				t.Errorf("%d rows, %d MiB: got %v", rows, mib, got)
			}
		}
	}
	if got := memory(sizedTable{1_000_000, peak(390)}); len(got) != 0 {
		t.Errorf("a size without an aim: got %v", got)
	}
}

func TestResults_SayWhatIsMissed(t *testing.T) {
	var out bytes.Buffer
	printResults(&out, []result{{"a ratio", 0.3, atMost(0.35)}, {"a peak", 511.04, atMost(256)},
		{"a rate", 2.4, atLeast(2.5)}})
	want := "" +
		"ratio    measured  aim               \n" +
		"a ratio  0.30      <= 0.35           \n" +
		"a peak   511.0     <= 256.0  missed  \n" +
		"a rate   2.40      >= 2.50   missed  \n" +
		"\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	out.Reset()
	if printResults(&out, nil); out.Len() > 0 {
		t.Errorf("of none: got %q", out.String())
	}
}
