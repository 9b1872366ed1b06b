package schema

// CalendarDay is one Chicago day with its first and last instant. Views join it instead of casting an instant to a
// date, because a cast uses the time zone of the reader.
type CalendarDay struct {
	// Short name of the account in this warehouse; part of the key, so join on it, too.
	AccountID string `col:"account_id" id:"1" key:"true"`
	// Chicago calendar day.
	ReportDate Date `col:"report_date" id:"2" key:"true"`
	// First day of the month.
	Month Date `col:"month" id:"3"`
	// ISO 8601 week, such as 2026-W47.
	ISOWeek string `col:"iso_week" id:"4"`
	// 1 Monday to 7 Sunday.
	DayOfWeek int64 `col:"day_of_week" id:"5"`
	// Saturday or Sunday.
	IsWeekend bool `col:"is_weekend" id:"6"`
	// First instant of the day in Chicago.
	StartsAt Instant `col:"starts_at" id:"7"`
	// First instant after the day.
	EndsAt Instant `col:"ends_at" id:"8"`
	// Length of the day: 24 hours; 23 or 25 when the clocks change.
	Hours int64 `col:"hours" id:"9"`
	// Run that added the day.
	RunID string `col:"_run_id" id:"10"`
}

// Calendar holds every day of whole years, up to the end of next year. The first year is that of the account's first
// stored day or, if earlier, of the first day that the report could be asked for.
var Calendar = Define[CalendarDay]("calendar", ByAccount,
	"Chicago days with their exact bounds, for every account, from the year of its first stored day to the end "+
		"of next year.",
	From(OtherTables), Dropped(DroppedColumn{11, "limit_starts_at", 11}, DroppedColumn{11, "limit_ends_at", 12}))

// CalendarDays returns all days of the years from first to last, both included, as rows of an account.
func CalendarDays(account, run string, first, last int) []CalendarDay {
	var days []CalendarDay
	for d := NewDate(first, 1, 1); d < NewDate(last+1, 1, 1); d++ {
		weekday := (int64(d.Weekday())+6)%7 + 1
		days = append(days, CalendarDay{
			AccountID: account, ReportDate: d, Month: d.Month(), ISOWeek: d.ISOWeek(),
			DayOfWeek: weekday, IsWeekend: weekday >= 6,
			StartsAt: InstantOf(d.Start()), EndsAt: InstantOf(d.End()), Hours: int64(d.Hours()), RunID: run,
		})
	}
	return days
}
