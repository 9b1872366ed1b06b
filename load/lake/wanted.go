package lake

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"spendsync/load/catalog"
	"spendsync/schema"
)

// file is one Parquet file of the store that the lake shall have.
type file struct {
	table   *schema.Table
	account string
	path    string      // below the data directory
	day     schema.Date // where the table is cut by day or month
	info    *catalog.FileInfo
}

// cell is a partition of a table: an account, and a month where the table is cut by
// month.
type cell struct {
	account string
	month   int // months since January 1970; noMonth: the table is cut by account alone
}

const noMonth = -1 << 31

// key is what a file is: two files of one key hold the same bytes. It is the part of an
// object's name that can be known from the manifest alone.
func (f file) key() string {
	day := "all"
	if f.table.Partition != schema.ByAccount {
		day = f.day.String()
	}
	return f.account + "/" + day + "-" + f.info.SHA256[:12]
}

// object is the name of the file's object below the table's folder. token makes it unique: a
// name is never used twice, so that no snapshot that expires can take with it a file that a
// later one brings back.
func (f file) object(token string) string {
	account, rest, _ := strings.Cut(f.key(), "/")
	at := strings.LastIndexByte(rest, '-')
	return fmt.Sprintf("data/account=%s/%s-%s%s-%s.parquet", account, rest[:at], f.info.RunID, rest[at:], token)
}

// keyOf is the key of an object by its name; empty: it is none of ours.
func keyOf(object string) string {
	account, ok := strings.CutPrefix(path.Base(path.Dir(object)), "account=")
	name, parquet := strings.CutSuffix(path.Base(object), ".parquet")
	parts := strings.Split(name, "-") // day has two dashes, "all" none; run, hash and token have none
	n := len(parts)
	if !ok || !parquet || n < 4 {
		return ""
	}
	return account + "/" + strings.Join(parts[:n-3], "-") + "-" + parts[n-2]
}

// dayOf is the day in an object's name; false: it is of none.
func dayOf(key string) (schema.Date, bool) {
	_, name, _ := strings.Cut(key, "/")
	at := strings.LastIndexByte(name, '-')
	if at < 0 {
		return 0, false
	}
	d, err := schema.ParseDate(name[:at])
	return d, err == nil
}

// cellOf is the partition that a file lies in.
func (s *tableSpec) cellOf(f file) cell {
	if !s.months {
		return cell{f.account, noMonth}
	}
	return cell{f.account, monthOf(f.day)}
}

// monthOf is the month of a day as Iceberg counts months: from January 1970.
func monthOf(day schema.Date) int {
	t := time.Unix(int64(day)*86400, 0).UTC()
	return (t.Year()-1970)*12 + int(t.Month()) - 1
}

// monthName is how lake_generation names a cell of an account.
func (c cell) monthName() string {
	if c.month == noMonth {
		return "all"
	}
	year, month := 1970+c.month/12, c.month%12+1
	return fmt.Sprintf("%04d-%02d", year, month)
}

// wanted is what the lake shall have of a store.
type wanted struct {
	manifest *catalog.Manifest
	of       map[string]*catalog.Manifest            // by account, where they are of several stores
	files    map[string]map[cell][]file              // by table
	hashes   map[string]map[string]map[string]string // by account, table and month
	count    map[string]total                        // by account
}

// origin is the manifest of an account's store.
func (w *wanted) origin(account string) *catalog.Manifest {
	if m := w.of[account]; m != nil {
		return m
	}
	return w.manifest
}

// total is how much the lake shall have of an account.
type total struct{ rows, files int64 }

// want reads off a manifest what the lake shall have: each table's files, sorted. Files without
// rows are left out: they say nothing that the coverage does not.
func want(m *catalog.Manifest, all []*tableSpec) *wanted {
	w := &wanted{manifest: m, files: map[string]map[cell][]file{},
		hashes: map[string]map[string]map[string]string{}, count: map[string]total{}}
	bySchema := map[string]*tableSpec{}
	for _, s := range all {
		w.files[s.name] = map[cell][]file{}
		if s.table != nil {
			bySchema[s.table.FullName()] = s
		}
	}
	for account, a := range m.Accounts {
		for p, info := range a.Files {
			s := bySchema[info.Table]
			if info.Kind != catalog.KindParquet || s == nil || info.Rows == 0 || len(info.SHA256) < 12 {
				continue
			}
			f := file{table: s.table, account: account, path: p, day: info.Day, info: info}
			c := s.cellOf(f)
			w.files[s.name][c] = append(w.files[s.name][c], f)
		}
	}
	for name, cells := range w.files {
		for c, files := range cells {
			slices.SortFunc(files, func(a, b file) int {
				return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.info.SHA256, b.info.SHA256))
			})
			w.hash(name, c, files)
		}
	}
	return w
}

// hash notes a short hash of what the lake shall have of a partition. By it a commit knows which
// to look at.
func (w *wanted) hash(table string, c cell, files []file) {
	h := sha256.New()
	var line []byte
	for _, f := range files {
		line = append(append(line[:0], f.info.SHA256...), ' ')
		h.Write(strconv.AppendInt(line, int64(f.day), 10))
	}
	if w.hashes[c.account] == nil {
		w.hashes[c.account] = map[string]map[string]string{}
	}
	if w.hashes[c.account][table] == nil {
		w.hashes[c.account][table] = map[string]string{}
	}
	w.hashes[c.account][table][c.monthName()] = hex.EncodeToString(h.Sum(nil)[:6])
	for _, f := range files {
		w.count[c.account] = total{w.count[c.account].rows + f.info.Rows, w.count[c.account].files + 1}
	}
}

// byKey are the files of a table by their keys.
func (w *wanted) byKey(table string) map[string]file {
	all := map[string]file{}
	for _, files := range w.files[table] {
		for _, f := range files {
			all[f.key()] = f
		}
	}
	return all
}

// slices are the hashes of an account's partitions, by table and month.
func (w *wanted) slices(account string) map[string]map[string]string { return w.hashes[account] }

// compareCells orders partitions by month, then account: what changes in one hour lies together, so
// that a commit reads few manifests however long the history is.
func compareCells(a, b cell) int {
	return cmp.Or(cmp.Compare(a.month, b.month), cmp.Compare(a.account, b.account))
}
