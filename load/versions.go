package load

import (
	"io"
	"path/filepath"

	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// versioned describes a table of versions. Its functions hide the Go type of the table's rows.
type versioned struct {
	table *schema.Table
	// upgrade reads the table's file and adds the columns of this version. It returns the writer of the rows, and the
	// [history.Memory] to store with the rows.
	upgrade func(d durable.Disk, path string, was history.Memory) (rowsWriter, history.Memory, error)
	// confirmed finds out when each current version was last confirmed, and adds these times to the given
	// [history.Readings]. It is for version 11 of the tables, which kept the times in the table's file and in
	// [history.Memory].
	confirmed func(d durable.Disk, path string, was history.Memory, into history.Readings) error
	// check verifies the number of rows in the published file, and the versions, see [history.Check].
	check func(d durable.Disk, dir, path string, a *manifest.Account, info *manifest.File) error
}

// rowsWriter writes a Parquet file, and returns the number of its rows.
type rowsWriter func(io.Writer) (int64, error)

var versionedTables = []versioned{
	versionedOf(schema.CampaignHistory, (*schema.Campaign).Place),
	versionedOf(schema.DeliveryHistory, (*schema.Delivery).Place),
	versionedOf(schema.CreativeHistory, (*schema.Creative).Place),
	versionedOf(schema.SourceRuleHistory, (*schema.SourceRule).Place),
	versionedOf(schema.PayoutHistory, nil),
	versionedOf(schema.SourceModeHistory, (*schema.SourceMode).Place),
}

func versionedTable(name string) *versioned {
	for i := range versionedTables {
		if versionedTables[i].table.Name == name {
			return &versionedTables[i]
		}
	}
	return nil
}

func versionedOf[R any, P history.Versioned[R]](t schema.TableOf[R], place func(*R) schema.Place) versioned {
	return versioned{
		table: t.Table,
		upgrade: func(d durable.Disk, path string, memory history.Memory) (rowsWriter, history.Memory, error) {
			rows, err := parquet.Rows(d, path, t)
			if err != nil {
				return nil, memory, err
			}
			added, err := parquet.Added(d, path, t.Table)
			if err != nil {
				return nil, memory, err
			}
			h, err := withNewColumns[R, P](t, history.Versions[R]{Rows: rows, Memory: memory}, added)
			write := func(out io.Writer) (int64, error) {
				return parquet.Write(out, t.Table, parquet.Record(t, h.Rows))
			}
			return write, h.Memory, err
		},
		confirmed: func(d durable.Disk, path string, memory history.Memory, into history.Readings) error {
			if place == nil {
				return nil
			}
			text := history.KeyTextOf(t)
			for rows, err := range parquet.Batches(d, path, t) {
				if err != nil {
					return err
				}
				for i := range rows {
					f, at := P(&rows[i]).FramePtr(), place(&rows[i])
					if !f.IsCurrent {
						continue
					}
					confirmed := max(memory.Confirmed(text(&rows[i])), f.LastConfirmedAt)
					if _, ok := into[at.Whole()]; !ok {
						into[at.Whole()] = confirmed
					}
					into.Confirm(at, confirmed)
				}
			}
			return nil
		},
		check: func(d durable.Disk, dir, path string, a *manifest.Account, info *manifest.File) error {
			rows, err := parquet.Rows(d, filepath.Join(dir, path), t)
			if err := manifest.CountRows(path, info, int64(len(rows)), err); err != nil {
				return err
			}
			h := history.Versions[R]{Rows: rows, Memory: a.Memory[t.Name]}
			if err := history.Check[R, P](t, h); err != nil {
				return durable.Damaged(path, durable.RepairBackup, "%v", err)
			}
			return nil
		},
	}
}

// withNewColumns adds new columns of a table to the table's history, see [history.AddColumn].
func withNewColumns[R any, P history.Versioned[R]](t schema.TableOf[R], h history.Versions[R],
	added []string) (_ history.Versions[R], err error) {
	for _, column := range added {
		if h, err = history.AddColumn[R, P](t, h, column); err != nil {
			break
		}
	}
	return h, err
}
