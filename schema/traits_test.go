package schema

import (
	"slices"
	"strings"
	"testing"
)

// TestTables_DeclareWhatTheyAre: a table of versions declares when an entity counts as deleted, a table of sums
// declares its query, and other tables declare neither.
func TestTables_DeclareWhatTheyAre(t *testing.T) {
	for _, table := range Documented() {
		if table.Versioned != (table.Patience > 0) {
			t.Errorf("%s: versioned %t, deleted after %d absences", table.FullName(), table.Versioned, table.Patience)
		}
		if (table.Partition == Summed) != (table.SumsSQL != nil) {
			t.Errorf("%s: partition %q, and sums %t", table.FullName(), table.Partition, table.SumsSQL != nil)
		}
		if table.MadeFrom == Nothing && !table.HasFiles() {
			t.Errorf("%s has no files and is made from nothing", table.FullName())
		}
		for _, c := range table.Columns {
			if c.History != Tracked && c.History != Untracked && !table.Versioned {
				t.Errorf("%s.%s is of a table of versions", table.FullName(), c.Name)
			}
		}
		if Named(table.FullName()) != table {
			t.Errorf("%s is not found by its name", table.FullName())
		}
	}
}

// TestTable_AsOf: the table as of a version lacks the columns that were added later; the other columns are unchanged.
func TestTable_AsOf(t *testing.T) {
	type row struct {
		AccountID string      `col:"account_id" id:"1" key:"true" doc:"d"`
		Old       Null[int64] `col:"old" id:"2" doc:"d"`
		New       Null[int64] `col:"new" id:"4" doc:"d"`
		RunID     string      `col:"_run_id" id:"3" doc:"d"`
	}
	const next = Oldest + 1
	table := Define[row]("t", ByAccount, "").Table
	if got := table.FilesVersion(); got != Oldest {
		t.Errorf("FilesVersion = %d", got)
	}
	table.Columns[2].Since = next // as the tag since will do in a later version
	if got := table.FilesVersion(); got != next {
		t.Errorf("FilesVersion = %d", got)
	}
	if table.AsOf(next) != table || table.AsOf(next+7) != table {
		t.Error("the table as it is is another one")
	}
	was := table.AsOf(Oldest)
	if want := []string{"account_id", "old", "_run_id"}; !slices.Equal(was.ColumnNames(), want) {
		t.Errorf("the columns of the oldest version are %v", was.ColumnNames())
	}
	if was.Arrow.NumFields() != 3 || len(was.Parquet.Columns()) != 3 {
		t.Errorf("its schemas have other columns: %s %s", was.Arrow, was.Parquet)
	}
	if later := Define[row]("t", ByAccount, "", Since(next)).Table; later.AsOf(Oldest) != nil ||
		later.FilesVersion() != next {
		t.Error("a table was there before it came")
	}
}

// TestTable_HasColumnsOf: a file has all columns of its version, including columns that were dropped from the table
// since.
func TestTable_HasColumnsOf(t *testing.T) {
	type row struct {
		AccountID string `col:"account_id" id:"1" key:"true" doc:"d"`
		RunID     string `col:"_run_id" id:"3" doc:"d"`
	}
	const next = Oldest + 1
	table := Define[row]("t", ByAccount, "", Dropped(DroppedColumn{next, "old", 2})).Table
	if table.FilesVersion() != next || table.AsOf(Oldest).FilesVersion() != Oldest {
		t.Errorf("FilesVersion = %d, and was %d", table.FilesVersion(), table.AsOf(Oldest).FilesVersion())
	}
	for _, c := range []struct {
		version int
		names   string
		want    bool
	}{
		{Oldest, "account_id old _run_id", true},
		{next, "account_id _run_id", true},
		{next, "account_id old _run_id", false},
		{Oldest, "account_id older _run_id", false},
		{Oldest, "account_id old", false},
	} {
		if got := table.HasColumnsOf(c.version, strings.Fields(c.names)); got != c.want {
			t.Errorf("version %d, %s: %t", c.version, c.names, got)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("the field id of a column that went was given to another")
		}
	}()
	Define[row]("t", ByAccount, "", Dropped(DroppedColumn{next, "old", 3}))
}
