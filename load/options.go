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

// Options are what a store needs to know from outside.
type Options struct {
	LockWait time.Duration // how long to wait for the store's lock
	DuckDB   duck.Options
	KeepRaw  bool             // keep the raw replies of the stored days
	Version  string           // of the binary, for the manifest
	Log      *slog.Logger     // nil: silent
	Now      func() time.Time // for "today" only; nil: the clock

	// disk is the file system; zero: the operating system's.
	disk durable.Disk

	// crash is called before every named step of publishing; an error ends the
	// run there, as if the process had died: nothing is cleaned up.
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

// place is the store in which commits are made.
func (o Options) place(dir string) commit.Place {
	return commit.Place{Dir: dir, Disk: o.disk, Log: o.Log, Crash: o.crash}
}

// ReadRaw makes a day's rows again from its stored replies. The store does not
// know the service, so the caller brings this.
// The pages come one by one, each lent, and an error of reading them is to be handed back. pieces are what they
// answered, see [manifest.Meaning].
type ReadRaw func(account string, day schema.Date, pieces []schema.Piece, pages iter.Seq2[[]byte, error]) (
	*schema.SpendRows, error)
