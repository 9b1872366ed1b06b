package lake

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// file is one Parquet file that the lake shall have: of the store, or all days of a closed month.
type file struct {
	table   *schema.Table
	account string
	path    string      // below the data directory; of a month: what to call it
	day     schema.Date // if the table is cut by day or month
	info    *manifest.File
	days    []file // of a closed month: the files that it is made of, in their order
}

// closedAfter is how many days after its end a month is closed. The service's report reaches 32
// days back; if a later restatement comes all the same, it replaces the month's file.
const closedAfter = 35

// partition is one partition of a table: an account and, if the table is cut by month, a month.
type partition struct {
	account string
	month   int // months since January 1970; noMonth: the table is cut by account alone
}

const noMonth = manifest.NoMonth

// key is what a file is: two files of one key hold the same bytes. It is the part of an
// object's name that can be known from the manifest alone.
func (f file) key() string {
	day := "all"
	if f.days != nil {
		day = partition{month: monthOf(f.day)}.monthName() + fmt.Sprintf("m%08x", f.daysWithRows())
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

// partitionOf returns the partition of a file.
func (s *tableSpec) partitionOf(f file) partition {
	if !s.months {
		return partition{f.account, noMonth}
	}
	return partition{f.account, monthOf(f.day)}
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

// monthName is how lake_generation names a partition of an account.
func (c partition) monthName() string {
	if c.month == noMonth {
		return "all"
	}
	year, month := 1970+c.month/12, c.month%12+1
	return fmt.Sprintf("%04d-%02d", year, month)
}

// Wanted is what the lake shall have of a store: the files of its published generation.
type Wanted struct {
	listing  *manifest.Listing
	accounts map[string]*manifest.Listed
	files    map[string]map[partition][]file         // by table, of the partitions to compare
	hashes   map[string]map[string]map[string]string // by account, table and month, see partition
	specs    map[string]*tableSpec                   // by the folder of their files
	marks    *Markers                                // for partitions that are not compared
}

// closes reports whether a partition is a month that was closed when the generation was published,
// so that its days are one file.
func (w *Wanted) closes(s *tableSpec, c partition) bool {
	return s.table.Partition == schema.ByDay && isClosed(c.month, w.listing.Manifest)
}

func isClosed(month int, m *manifest.Manifest) bool {
	return month != noMonth &&
		m.PublishedAt.Time().After(time.Date(1970, time.Month(month+2), closedAfter, 0, 0, 0, 0, time.UTC))
}

// filter reports whether to compare the files of a partition, given the hash of its wanted files.
type filter func(table string, c partition, hash string) bool

// newWanted is what the lake shall have of no account yet.
func newWanted(all []*tableSpec, marks *Markers) *Wanted {
	w := &Wanted{accounts: map[string]*manifest.Listed{},
		files: map[string]map[partition][]file{}, hashes: map[string]map[string]map[string]string{},
		specs: map[string]*tableSpec{}, marks: marks}
	for _, s := range all {
		w.files[s.name] = map[partition][]file{}
		if s.table != nil {
			w.specs["parquet/"+s.name] = s
		}
	}
	return w
}

// wantOf derives the lake's wanted files from a listing, decoding only the partitions that keep
// selects; a nil keep selects all.
func wantOf(l *manifest.Listing, all []*tableSpec, marks *Markers, keep filter) (*Wanted, error) {
	w := newWanted(all, marks)
	return w, w.read(l, keep)
}

func (w *Wanted) read(l *manifest.Listing, keep filter) error {
	w.listing = l
	for _, a := range l.Accounts {
		if err := w.add(a, keep); err != nil {
			return err
		}
	}
	return nil
}

// fill takes of a store's files those of the partitions that differ from the last commit. It does not open the file of
// an account that is the file of the last commit.
func (w *Wanted) fill(l *manifest.Listing) error {
	w.listing = l
	for _, a := range l.Accounts {
		if had := w.marks.decoded(a.Name).hashes; had[fileMark]["all"] == fileMarkOf(a, l.Manifest) {
			w.accounts[a.Name], w.hashes[a.Name] = a, had
		} else if err := w.add(a, w.marks.differs); err != nil {
			return err
		}
	}
	return nil
}

// again reads the files of the store once more, those of the partitions that keep selects.
func (w *Wanted) again(all []*tableSpec, keep filter) (*Wanted, error) {
	more := newWanted(all, w.marks)
	return more, more.read(w.listing, keep)
}

// fileMark is the key, next to the tables, under which lake_generation keeps the account file of a
// commit.
const fileMark = "manifest"

// fileMarkOf is the hash of the account file of a generation, and the newest closed month: from both follow the
// hashes of all partitions.
func fileMarkOf(a *manifest.Listed, m *manifest.Manifest) string {
	closed := monthOf(schema.DateOf(m.PublishedAt.Time()))
	for !isClosed(closed, m) {
		closed--
	}
	return partitionState{fmt.Sprintf("%s-%d", a.Part.SHA256[:16], closed), 0, 0}.String()
}

// hasRows reports whether the table contains rows of the file. Files without rows are left out: the
// coverage already records them.
func (s *tableSpec) hasRows(info *manifest.File) bool {
	return info.Kind == manifest.KindParquet && info.Table == s.table.FullName() && info.Rows > 0 &&
		len(info.SHA256) >= 12
}

// partitionOfGroup is the table and the partition of a group of files; no table: it is in none.
func (w *Wanted) partitionOfGroup(a *manifest.Listed, g *manifest.Group) (*tableSpec, partition, error) {
	s, c := w.specs[g.Folder], partition{a.Name, noMonth}
	if s != nil && s.months {
		c.month = g.Month
	}
	if g.Folder != "" {
		return s, c, nil
	}
	files, err := a.Files(g)
	for path, info := range files {
		if info.Kind == manifest.KindParquet {
			err = fmt.Errorf("%q of account %s: %w: it does not lie where spendsync puts it", path, a.Name,
				durable.ErrDamaged)
		}
	}
	return nil, c, err
}

// add adds what an account has.
func (w *Wanted) add(a *manifest.Listed, keep filter) error {
	w.accounts[a.Name] = a
	tables := map[*tableSpec]map[partition][]*manifest.Group{}
	all, err := a.Groups()
	if err != nil {
		return err
	}
	for _, g := range all {
		s, c, err := w.partitionOfGroup(a, g)
		if err != nil {
			return err
		}
		if s != nil {
			if tables[s] == nil {
				tables[s] = map[partition][]*manifest.Group{}
			}
			tables[s][c] = append(tables[s][c], g)
		}
	}
	w.hashes[a.Name] = map[string]map[string]string{fileMark: {"all": fileMarkOf(a, w.listing.Manifest)}}
	for s, partitions := range tables {
		names := map[string]string{}
		w.hashes[a.Name][s.name] = names
		for c, groups := range partitions {
			hash, month := hashOfGroups(groups), c.monthName()
			if w.closes(s, c) {
				hash = mergedMark + hash
			}
			if keep != nil && !keep(s.name, c, hash) {
				if names[month] = hash; w.marks != nil {
					names[month] = w.marks.decoded(a.Name).hashes[s.name][month]
				}
				continue
			}
			files, err := w.decode(a, s, c, groups)
			if err != nil {
				return err
			}
			names[month] = partitionState{hash, rowsOf(files), int64(len(files))}.String()
			if len(files) > 0 {
				w.files[s.name][c] = files
			}
		}
	}
	return nil
}

// decode returns the files of a partition, sorted.
func (w *Wanted) decode(a *manifest.Listed, s *tableSpec, c partition, groups []*manifest.Group) ([]file, error) {
	infos, err := a.Files(groups...)
	if err != nil {
		return nil, err
	}
	var files []file
	for path, info := range infos {
		f := file{table: s.table, account: c.account, path: path, day: info.Day, info: info}
		if !s.hasRows(info) {
			continue
		}
		if s.partitionOf(f) != c {
			return nil, fmt.Errorf("%q: %w: it is of %s by the manifest", path, durable.ErrDamaged, info.Day)
		}
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.info.SHA256, b.info.SHA256))
	})
	if len(files) > 0 && w.closes(s, c) {
		files = []file{merged(c, files)}
	}
	return files, nil
}

func rowsOf(files []file) (n int64) {
	for _, f := range files {
		n += f.info.Rows
	}
	return n
}

// partitionState is one entry of lake_generation: a hash of the wanted files of a partition, and their
// numbers of rows and files. Commits compare hashes to find changed partitions.
type partitionState struct {
	hash        string
	rows, files int64
}

func (p partitionState) String() string { return fmt.Sprintf("%s.%d.%d", p.hash, p.rows, p.files) }

// partitionStateOf parses an entry of lake_generation; it rejects an entry of a version that recorded
// the hash alone.
func partitionStateOf(text string) (p partitionState, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return p, false
	}
	rows, err := strconv.ParseInt(parts[1], 10, 64)
	files, filesErr := strconv.ParseInt(parts[2], 10, 64)
	return partitionState{parts[0], rows, files}, err == nil && filesErr == nil
}

// hashOfGroups hashes a partition's groups of a manifest.
func hashOfGroups(groups []*manifest.Group) string {
	sum := groups[0].Hash
	if len(groups) > 1 {
		h := xxhash.New()
		for _, g := range groups {
			h.Write(binary.LittleEndian.AppendUint64(nil, g.Hash))
		}
		sum = h.Sum64()
	}
	return fmt.Sprintf("%016x", sum)
}

// mergedMark is the hash prefix of a partition whose days are one file.
const mergedMark = "m"

// merged is the file of a closed month, made of its days.
func merged(c partition, days []file) file {
	f := days[0]
	f.day = monthStart(c.month)
	f.path = f.table.Name + " of account " + c.account + ", " + c.monthName()
	f.info = &manifest.File{Kind: manifest.KindParquet, Table: f.info.Table, Day: f.day}
	for _, d := range days {
		f.info.Rows += d.info.Rows
		f.info.Bytes += d.info.Bytes
		f.info.RunID = max(f.info.RunID, d.info.RunID)
	}
	f.info.SHA256, f.days = hashOf(days), days
	return f
}

// inMonth looks at the partitions of a month.
func inMonth(month int) filter {
	return func(_ string, c partition, _ string) bool { return c.month == month }
}

// scopeOf are the partitions of a month, of all accounts.
func (w *Wanted) scopeOf(month int) scope {
	s := scope{partitions: map[partition]bool{}}
	for account := range w.accounts {
		s.partitions[partition{account, month}] = true
	}
	return s
}

// byKey returns the files of a table by their keys.
func (w *Wanted) byKey(table string) map[string]file {
	all := map[string]file{}
	for _, files := range w.files[table] {
		for _, f := range files {
			all[f.key()] = f
		}
	}
	return all
}

// hashOf is a short hash of the files of a month.
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
func (w *Wanted) slices(account string) map[string]map[string]string { return w.hashes[account] }

// comparePartitions orders partitions by month, then account: what changes in one hour lies together, so
// that a commit reads few manifests however long the history is.
func comparePartitions(a, b partition) int {
	return cmp.Or(cmp.Compare(a.month, b.month), cmp.Compare(a.account, b.account))
}
