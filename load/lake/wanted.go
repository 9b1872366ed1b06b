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

// file is one Parquet file that the lake shall have: of the store, or all days of a closed month.
type file struct {
	table   *schema.Table
	account string
	path    string      // below the data directory; of a month: what to call it
	day     schema.Date // where the table is cut by day or month
	info    *catalog.FileInfo
	days    []file // of a closed month: the files that it is made of, in their order
}

// closedAfter is how many days after its end a month is closed. The service's report reaches 32
// days back; what is restated later all the same replaces the month's file.
const closedAfter = 35

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
	if f.days != nil {
		day = cell{month: monthOf(f.day)}.monthName() + fmt.Sprintf("m%08x", f.daysWithRows())
	} else if f.table.Partition != schema.ByAccount {
		day = f.day.String()
	}
	return f.account + "/" + day + "-" + f.info.SHA256[:12]
}

// daysWithRows has a bit for each day of a closed month that has rows, the lowest for its first.
func (f file) daysWithRows() (bits uint32) {
	for _, d := range f.days {
		bits |= 1 << (d.day - f.day)
	}
	return bits
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

// contentOf are the first digits of the hash of a closed month's object, by its name.
func contentOf(object string) string {
	name := strings.TrimSuffix(path.Base(object), ".parquet")
	token := name[strings.LastIndexByte(name, '-')+1:]
	return token[:min(len(token), 12)]
}

// daysOf are the days whose rows an object holds, by the key in its name; none: it is of no day.
func daysOf(key string) (days []schema.Date) {
	_, name, _ := strings.Cut(key, "/")
	name = name[:max(0, strings.LastIndexByte(name, '-'))]
	if d, err := schema.ParseDate(name); err == nil {
		return []schema.Date{d}
	}
	month, text, _ := strings.Cut(name, "m")
	first, err := schema.ParseDate(month + "-01")
	bits, bitsErr := strconv.ParseUint(text, 16, 32)
	if err != nil || bitsErr != nil {
		return nil
	}
	for i := range schema.Date(32) {
		if bits>>i&1 == 1 {
			days = append(days, first+i)
		}
	}
	return days
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

// monthStart is the first day of a month.
func monthStart(month int) schema.Date {
	return schema.Date(time.Date(1970, time.Month(month+1), 1, 0, 0, 0, 0, time.UTC).Unix() / 86400)
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
	manifest *catalog.Manifest                       // of each account its days alone count
	of       map[string]*catalog.Manifest            // by account, where they are of several stores
	files    map[string]map[cell][]file              // by table; of the partitions that are looked at
	hashes   map[string]map[string]map[string]string // by account, table and month
	count    map[string]total                        // by account
	specs    map[string]*tableSpec                   // by what a manifest calls the table
}

// closes says whether a partition is a month that was closed when the generation was published, so
// that its days are one file.
func (w *wanted) closes(s *tableSpec, c cell) bool {
	if s.table.Partition != schema.ByDay || c.month == noMonth {
		return false
	}
	end := time.Date(1970, time.Month(c.month+2), closedAfter, 0, 0, 0, 0, time.UTC)
	return w.origin(c.account).PublishedAt.Time().After(end)
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

// keeps says whether the files of a partition are looked at, by the hash of what is wanted there.
type keeps func(table string, c cell, hash string) bool

// newWanted is what the lake shall have of no account yet.
func newWanted(m *catalog.Manifest, all []*tableSpec) *wanted {
	w := &wanted{manifest: m, of: map[string]*catalog.Manifest{}, files: map[string]map[cell][]file{},
		hashes: map[string]map[string]map[string]string{}, count: map[string]total{}, specs: map[string]*tableSpec{}}
	for _, s := range all {
		w.files[s.name] = map[cell][]file{}
		if s.table != nil {
			w.specs[s.table.FullName()] = s
		}
	}
	return w
}

// want reads off a manifest what the lake shall have: each table's files, sorted.
func want(m *catalog.Manifest, all []*tableSpec) *wanted {
	w := newWanted(m, all)
	for account, a := range m.Accounts {
		w.add(account, a, nil)
	}
	return w
}

// wantOf reads off a listing what the lake shall have, and keeps of it only what is looked at.
func wantOf(l *catalog.Listing, all []*tableSpec, keep keeps) (*wanted, error) {
	w := newWanted(l.Manifest, all)
	return w, w.read(l, keep)
}

func (w *wanted) read(l *catalog.Listing, keep keeps) error {
	for a, err := range l.Accounts() {
		if err != nil {
			return err
		}
		w.manifest.Accounts[a.Name] = &catalog.Account{Since: a.Since, Days: a.Days}
		w.add(a.Name, a.Account, keep)
	}
	return nil
}

// specOf is the table of a file; nil: it is in none. Files without rows are left out: they say
// nothing that the coverage does not.
func (w *wanted) specOf(info *catalog.FileInfo) *tableSpec {
	if info.Kind != catalog.KindParquet || info.Rows == 0 || len(info.SHA256) < 12 {
		return nil
	}
	return w.specs[info.Table]
}

// add adds what an account has. Without keep all of it is looked at.
func (w *wanted) add(account string, a *catalog.Account, keep keeps) {
	tables := map[*tableSpec]map[cell][]file{}
	for p, info := range a.Files {
		if s := w.specOf(info); s != nil {
			f := file{table: s.table, account: account, path: p, day: info.Day, info: info}
			if tables[s] == nil {
				tables[s] = map[cell][]file{}
			}
			c := s.cellOf(f)
			tables[s][c] = append(tables[s][c], f)
		}
	}
	w.hashes[account] = map[string]map[string]string{}
	for s, cells := range tables {
		names := map[string]string{}
		w.hashes[account][s.name] = names
		for c, files := range cells {
			slices.SortFunc(files, func(a, b file) int {
				return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.info.SHA256, b.info.SHA256))
			})
			hash := hashOf(files)
			if w.closes(s, c) {
				files = []file{merged(c, files)}
				hash = mergedMark + hash
			}
			names[c.monthName()] = hash
			for _, f := range files {
				w.count[account] = total{w.count[account].rows + f.info.Rows, w.count[account].files + 1}
			}
			if keep == nil || keep(s.name, c, hash) {
				w.files[s.name][c] = files
			}
		}
	}
}

// mergedMark begins the hash of a partition whose days are one file.
const mergedMark = "m"

// merged is the file of a closed month, made of its days.
func merged(c cell, days []file) file {
	f := days[0]
	f.day = monthStart(c.month)
	f.path = f.table.Name + " of account " + c.account + ", " + c.monthName()
	f.info = &catalog.FileInfo{Kind: catalog.KindParquet, Table: f.info.Table, Day: f.day}
	for _, d := range days {
		f.info.Rows += d.info.Rows
		f.info.Bytes += d.info.Bytes
		f.info.RunID = max(f.info.RunID, d.info.RunID)
	}
	f.info.SHA256, f.days = hashOf(days), days
	return f
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

// hashOf is a short hash of what the lake shall have of a partition. By it a commit knows which
// to look at.
func hashOf(files []file) string {
	h := sha256.New()
	var line []byte
	for _, f := range files {
		line = append(append(line[:0], f.info.SHA256...), ' ')
		h.Write(strconv.AppendInt(line, int64(f.day), 10))
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// slices are the hashes of an account's partitions, by table and month.
func (w *wanted) slices(account string) map[string]map[string]string { return w.hashes[account] }

// compareCells orders partitions by month, then account: what changes in one hour lies together, so
// that a commit reads few manifests however long the history is.
func compareCells(a, b cell) int {
	return cmp.Or(cmp.Compare(a.month, b.month), cmp.Compare(a.account, b.account))
}
