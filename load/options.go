package load

import (
	"iter"
	"log/slog"
	"time"

	"spendsync/load/commit"
	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/schema"
)

// Options configure a store.
type Options struct {
	LockWait time.Duration // limit for waiting on the store's lock
	DuckDB   duck.Options
	Version  string           // version of the binary, recorded in the manifest
	Log      *slog.Logger     // if nil, nothing is logged
	Now      func() time.Time // if nil, the system's clock is used

	// disk is the file system. The zero value means the file system of the operating system.
	disk durable.Disk

	// crash is for tests. It is called before every named step of publishing. An error ends the run there without
	// cleaning up, as if the process had died.
	crash func(step string) error
}

func (o Options) filled() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.disk.FS == nil {
		o.disk = durable.OS
	}
	o.DuckDB.Disk = o.disk
	if o.crash == nil {
		o.crash = func(string) error { return nil }
	}
	return o
}

// place returns dir as a data directory for commits, with the disk, the log and the crash function of the options.
func (o Options) place(dir string) commit.Place {
	return commit.Place{Dir: dir, Disk: o.disk, Log: o.Log, Crash: o.crash}
}

// ReadRaw makes a day's rows from its stored replies. The iterator yields these replies, and pieces has the questions
// that they answer, see [manifest.Meaning]. The caller provides this function, because this package does not know the
// service. Each reply is valid only until the next iteration. If the iterator yields an error, ReadRaw must return the
// error.
type ReadRaw func(account string, day schema.Date, pieces []schema.Piece, pages iter.Seq2[[]byte, error]) (
	*schema.SpendRows, error)
