package schema

import (
	"fmt"
	"testing"
	"time"
)

func ExampleDate() {
	d := DateOf(time.Date(2026, 11, 2, 5, 59, 59, 0, time.UTC)) // 23:59:59 in Chicago
	fmt.Println(d, d.Hours(), d+1, d.ISOWeek())
	// Output: 2026-11-01 25 2026-11-02 2026-W44
}

func TestDate_IsTheChicagoDay(t *testing.T) {
	for instant, want := range map[string]string{
		"2026-11-21T05:59:59Z":      "2026-11-20",
		"2026-11-21T06:00:00Z":      "2026-11-21",
		"2026-07-01T04:59:59Z":      "2026-06-30", // summer: five hours behind UTC
		"2026-07-01T05:00:00Z":      "2026-07-01",
		"2026-11-21T14:59:59+09:00": "2026-11-20",
		"2026-01-01T05:59:59Z":      "2025-12-31",
	} {
		at, err := time.Parse(time.RFC3339, instant)
		if err != nil {
			t.Fatal(err)
		}
		if got := DateOf(at).String(); got != want {
			t.Errorf("DateOf(%s) = %s, want %s", instant, got, want)
		}
	}
}

// TestDate_HoursOfEveryDay walks 31 years: each day ends when the next day begins, and only the days of the clock
// changes are shorter or longer.
func TestDate_HoursOfEveryDay(t *testing.T) {
	short, long := 0, 0
	for d := NewDate(2007, 1, 1); d < NewDate(2038, 1, 1); d++ {
		if DateOf(d.Start()) != d || DateOf(d.End().Add(-time.Nanosecond)) != d || DateOf(d.End()) != d+1 {
			t.Fatalf("%s: starts %s, ends %s", d, d.Start(), d.End())
		}
		switch d.Hours() {
		case 23:
			short++
		case 25:
			long++
		case 24:
		default:
			t.Errorf("%s has %d hours", d, d.Hours())
		}
	}
	if short != 31 || long != 31 {
		t.Errorf("%d short and %d long days in 31 years, want 31 each", short, long)
	}
	if h := NewDate(2026, 3, 8).Hours(); h != 23 {
		t.Errorf("2026-03-08 has %d hours, want 23", h)
	}
}

func TestParseDate_RefusesAllButTheForm(t *testing.T) {
	for _, s := range []string{"", "2026-1-1", "2026-02-30", "2026-13-01", "20261101", " 2026-11-01",
		"2026-11-01T00:00:00Z", "26-11-01"} {
		if d, err := ParseDate(s); err == nil {
			t.Errorf("ParseDate(%q) = %s, want an error", s, d)
		}
	}
	if d, err := ParseDate("2024-02-29"); err != nil || d.String() != "2024-02-29" {
		t.Errorf("ParseDate(2024-02-29) = %s, %v", d, err)
	}
}

func TestInstant_KeepsMicroseconds(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.FixedZone("x", 3600))
	i := InstantOf(at)
	if got, want := i.String(), "2026-11-21T11:00:00.123456Z"; got != want {
		t.Errorf("String = %s, want %s", got, want)
	}
	var back Instant
	if err := back.UnmarshalText([]byte(i.String())); err != nil || back != i {
		t.Errorf("came back as %s, %v", back, err)
	}
}

func TestDaysUntilUnreachable(t *testing.T) {
	today := NewDate(2026, 11, 21)
	for d, want := range map[Date]int64{today: 33, today - 1: 32, today - 32: 1, today - 33: 0, today - 400: 0} {
		if got := DaysUntilUnreachable(d, today); got != want {
			t.Errorf("%s: %d, want %d", d, got, want)
		}
	}
}
