package schema

import (
	"fmt"
	"time"
)

// Instant is a point in time in UTC, in microseconds since 1970-01-01: the resolution of DuckDB's
// TIMESTAMPTZ and of our Parquet files. Unlike [time.Time], equal instants are ==.
type Instant int64

// InstantOf returns t, truncated to the microsecond.
func InstantOf(t time.Time) Instant { return Instant(t.UnixMicro()) }

// Time returns the instant as a time in UTC.
func (i Instant) Time() time.Time { return time.UnixMicro(int64(i)).UTC() }

// String returns the instant in RFC 3339, in UTC, with its microseconds.
func (i Instant) String() string { return i.Time().Format("2006-01-02T15:04:05.000000Z07:00") }

// MarshalText writes the text that String returns.
func (i Instant) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText reads any RFC 3339 time.
func (i *Instant) UnmarshalText(b []byte) error {
	t, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return fmt.Errorf("%.60q is not an RFC 3339 time", b)
	}
	*i = InstantOf(t)
	return nil
}
