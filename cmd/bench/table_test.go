package main

import (
	"bytes"
	"testing"
	"time"
)

func TestMedian_IsOfEachFigureByItself(t *testing.T) {
	var results table
	for _, m := range []measurement{
		{cpu: 3 * time.Second, wall: 1 * time.Second, rss: 20, bytes: 7, rate: 2.5, requests: 9},
		{cpu: 1 * time.Second, wall: 2 * time.Second, rss: 30, bytes: 7, rate: 1.5, requests: 8},
		{cpu: 2 * time.Second, wall: 9 * time.Second, rss: 10, bytes: 6, rate: 0.5, requests: 7},
	} {
		results.add(firstLoad, m)
	}
	want := measurement{cpu: 2 * time.Second, wall: 2 * time.Second, rss: 20, bytes: 7, rate: 1.5, requests: 8}
	if got := results.median(firstLoad); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	results.add(firstLoad, measurement{cpu: 4 * time.Second})
	if got := results.median(firstLoad).cpu; got != 3*time.Second {
		t.Errorf("of four: got %v, want the third", got)
	}
	if got := results.median(unchanged); got != (measurement{}) {
		t.Errorf("of none: got %+v", got)
	}
}

func TestTable_ShowsFiguresThatThereAre(t *testing.T) {
	var loads table
	loads.add(download, measurement{cpu: 120 * time.Millisecond, wall: 1500 * time.Millisecond, rss: 32 << 20,
		bytes: 20_460_000})
	loads.add(decodeOnly, measurement{cpu: 40 * time.Millisecond, wall: 50 * time.Millisecond, rss: 33<<20 + 1,
		rate: 448.6})
	checkPrinted(t, &loads, ""+
		"a title (medians)\n"+
		"\n"+
		"                       CPU s  wall s  peak MiB  MB left  MB/s a core  \n"+
		"download of the pages  0.12   1.50    32        20.5                  \n"+
		"decoding them          0.04   0.05    33                 449          \n"+
		"\n")

	var settings table
	settings.add(unchangedSettings, measurement{cpu: time.Second, wall: 2 * time.Second, rss: 1 << 30, requests: 914})
	settings.add(naiveSettings, measurement{requests: 3013})
	checkPrinted(t, &settings, ""+
		"a title (medians)\n"+
		"\n"+
		"                           CPU s  wall s  peak MiB  API requests  \n"+
		"snapshot again, unchanged  1.00   2.00    1024      914           \n"+
		"a client without a memory                           3013          \n"+
		"\n")
}

func checkPrinted(t *testing.T, results *table, want string) {
	t.Helper()
	var out bytes.Buffer
	if results.print(&out, "a title"); out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
