package schema

import (
	"fmt"
	"time"
	_ "time/tzdata" // Chicago exists on every machine, with or without zone files.
)

// Date is a calendar day in America/Chicago, as the number of days since 1970-01-01.
//
// It has no time of day and no zone, so it cannot shift to a neighboring day on a machine in another zone. Arithmetic
// on it is arithmetic on days: the day after 2026-11-01 is 2026-11-02, although that day has 25 hours.
type Date int32

// ChicagoZone is the IANA name of the zone in which the service counts days.
const ChicagoZone = "America/Chicago"

var chicago = func() *time.Location {
	loc, err := time.LoadLocation(ChicagoZone)
	if err != nil {
		panic("schema: the embedded zone data lacks " + ChicagoZone + ": " + err.Error())
	}
	return loc
}()

// Chicago returns the zone in which the service counts days.
func Chicago() *time.Location { return chicago }

// DateOf returns the Chicago day that contains the instant t, whatever zone t is in.
func DateOf(t time.Time) Date {
	y, m, d := t.In(chicago).Date()
	return NewDate(y, m, d)
}

// NewDate returns the day y-m-d. Values out of range roll over as in [time.Date].
func NewDate(y int, m time.Month, d int) Date {
	return Date(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / 86400)
}

// ParseDate parses YYYY-MM-DD and nothing else: no surrounding blanks, no short forms, no impossible days such as
// 2026-02-30.
func ParseDate(s string) (Date, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return 0, fmt.Errorf("%.40q is not a day in the form YYYY-MM-DD", s)
	}
	return Date(t.Unix() / 86400), nil
}

func (d Date) utc() time.Time { return time.Unix(int64(d)*86400, 0).UTC() }

// Start returns the first instant of the day in Chicago.
func (d Date) Start() time.Time { return d.StartIn(chicago) }

// StartIn returns the first instant of the date in the given zone.
func (d Date) StartIn(zone *time.Location) time.Time {
	y, m, day := d.utc().Date()
	return time.Date(y, m, day, 0, 0, 0, 0, zone)
}

// End returns the first instant after the day.
func (d Date) End() time.Time { return (d + 1).Start() }

// Hours returns the length of the day: 24 hours; 23 or 25 when the clocks change.
func (d Date) Hours() int { return int(d.End().Sub(d.Start()) / time.Hour) }

// Weekday returns the day of the week, which is the same in every time zone.
func (d Date) Weekday() time.Weekday { return d.utc().Weekday() }

// ISOWeek returns the ISO 8601 week in the form 2026-W47. Around New Year its year may differ from the year of the day.
func (d Date) ISOWeek() string {
	y, w := d.utc().ISOWeek()
	return fmt.Sprintf("%04d-W%02d", y, w)
}

// Year returns the calendar year of the day.
func (d Date) Year() int { return d.utc().Year() }

// Month returns the first day of the month that contains d.
func (d Date) Month() Date {
	y, m, _ := d.utc().Date()
	return NewDate(y, m, 1)
}

// String returns the day as YYYY-MM-DD.
func (d Date) String() string { return d.utc().Format(time.DateOnly) }

// MarshalText writes YYYY-MM-DD.
func (d Date) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads YYYY-MM-DD.
func (d *Date) UnmarshalText(b []byte) (err error) {
	*d, err = ParseDate(string(b))
	return err
}
