package lake

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// file is one Parquet file that the lake shall have: of the store, or all days of a closed month.
type file struct {
	in   partition
	path string // below the data directory; of a month: what to call it
	name string // of the day or month, in the object's name
	info *manifest.File
	days []file // of a closed month: the files that it is made of, in their order
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

// key is the file's name in the lake without a token: two files of one key hold the same rows.
func (f file) key() string {
	return fmt.Sprintf("account=%s/%s-%s-%s", f.in.account, f.name, f.info.RunID, f.info.SHA256[:12])
}

// object is the name of the file's object below the table's folder. token makes it unique: a
// name is never used twice, so that no snapshot that expires can take with it a file that a
// later one brings back.
func (f file) object(token string) string { return "data/" + f.key() + "-" + token + ".parquet" }

// keyOf is the key of the file that an object was made of; of an object of another program it is the key of none.
func keyOf(object string) string {
	folder, name := path.Split(object)
	return path.Base(folder) + "/" + name[:max(0, strings.LastIndexByte(name, '-'))]
}

// monthOf is the month of a day as Iceberg counts months: from January 1970.
func monthOf(day schema.Date) int {
	t := time.Unix(int64(day)*86400, 0).UTC()
	return (t.Year()-1970)*12 + int(t.Month()) - 1
}

// monthName is how lake_generation names a month.
func monthName(month int) string {
	if month == noMonth {
		return "all"
	}
	return time.Date(1970, time.Month(month+1), 1, 0, 0, 0, 0, time.UTC).Format("2006-01")
}

// monthNamed is the month that lake_generation names so.
func monthNamed(name string) int {
	t, err := time.Parse("2006-01", name)
	if err != nil {
		return noMonth
	}
	return (t.Year()-1970)*12 + int(t.Month()) - 1
}

// wanted is what the lake shall have of a store: the files of its published generation. They are decoded where a commit
// looks at them.
type wanted struct {
	listing  *manifest.Listing
	accounts map[string]*manifest.Listed
	parts    map[string]map[string]map[int]*part // by account, table and month
}

// part is what the lake shall have of a partition.
type part struct {
	groups   []*manifest.Group
	isMerged bool // its days are one file
	state    partitionState
}

// partitionState is one entry of lake_generation: a hash of the wanted files of a partition, and their
// numbers of rows and files. Commits compare hashes to find changed partitions.
type partitionState struct {
	hash        string
	rows, files int64
}

func (p partitionState) String() string { return fmt.Sprintf("%s.%d.%d", p.hash, p.rows, p.files) }

// partitionStateOf reads an entry of lake_generation; of another form it has the hash of no partition.
func partitionStateOf(text string) (p partitionState) {
	hash, numbers, _ := strings.Cut(text, ".")
	if _, err := fmt.Sscanf(numbers, "%d.%d", &p.rows, &p.files); err == nil {
		p.hash = hash
	}
	return p
}

// mergedMark is the hash prefix of a partition whose days are one file.
const mergedMark = "M"

func isClosed(month int, m *manifest.Manifest) bool {
	return month != noMonth &&
		m.PublishedAt.Time().After(time.Date(1970, time.Month(month+2), closedAfter, 0, 0, 0, 0, time.UTC))
}

// wantOf derives the lake's wanted files from a listing.
func wantOf(l *manifest.Listing, all []*tableSpec) (*wanted, error) {
	w := &wanted{listing: l, accounts: map[string]*manifest.Listed{}, parts: map[string]map[string]map[int]*part{}}
	folders := map[string]*tableSpec{}
	for _, s := range all {
		folders["parquet/"+s.name] = s
	}
	for _, a := range l.Accounts {
		w.accounts[a.Name], w.parts[a.Name] = a, map[string]map[int]*part{}
		groups, err := a.Groups()
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			s := folders[g.Folder]
			if s == nil {
				if err := refuseParquet(a, g); err != nil {
					return nil, err
				}
				continue
			}
			w.parts[a.Name][s.name] = withGroup(w.parts[a.Name][s.name], s, g)
		}
		for name, parts := range w.parts[a.Name] {
			for month, p := range parts {
				t := folders["parquet/"+name].table
				if p.state.hash = hashOfGroups(p.groups); t.Partition == schema.ByDay && isClosed(month, l.Manifest) {
					p.isMerged, p.state.hash = true, mergedMark+p.state.hash
				}
			}
		}
	}
	return w, nil
}

// withGroup adds a group of files to its part of a table.
func withGroup(parts map[int]*part, s *tableSpec, g *manifest.Group) map[int]*part {
	month := noMonth
	if s.months {
		month = g.Month
	}
	if parts == nil {
		parts = map[int]*part{}
	}
	if parts[month] == nil {
		parts[month] = &part{}
	}
	parts[month].groups = append(parts[month].groups, g)
	return parts
}

// refuseParquet refuses a Parquet file where spendsync puts none. A group of another folder holds none of ours.
func refuseParquet(a *manifest.Listed, g *manifest.Group) error {
	if g.Folder != "" {
		return nil
	}
	files, err := a.Files(g)
	for path, info := range files {
		if info.Kind == manifest.KindParquet {
			err = fmt.Errorf("%q of account %s: %w: it does not lie where spendsync puts it", path, a.Name,
				durable.ErrDamaged)
		}
	}
	return err
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

// files are the wanted files of a table in a scope, by their keys.
func (w *wanted) files(s *tableSpec, reach scope) (map[string]file, error) {
	all := map[string]file{}
	for account, tables := range w.parts {
		for month, p := range tables[s.name] {
			if !reach.holds(partition{account, month}) {
				continue
			}
			files, err := w.decode(s, partition{account, month}, p)
			if err != nil {
				return nil, err
			}
			p.state.rows, p.state.files = 0, int64(len(files))
			for _, f := range files {
				p.state.rows += f.info.Rows
				all[f.key()] = f
			}
		}
	}
	return all, nil
}

// decode returns the files of a partition. Files without rows are left out: the coverage already records them.
func (w *wanted) decode(s *tableSpec, c partition, p *part) (files []file, err error) {
	infos, err := w.accounts[c.account].Files(p.groups...)
	if err != nil {
		return nil, err
	}
	for path, info := range infos {
		if info.Kind != manifest.KindParquet || info.Table != s.table.FullName() || info.Rows == 0 ||
			len(info.SHA256) < 12 {
			continue
		}
		if s.months && monthOf(info.Day) != c.month {
			return nil, fmt.Errorf("%q: %w: it is of %s by the manifest", path, durable.ErrDamaged, info.Day)
		}
		f := file{in: c, path: path, name: "all", info: info}
		if s.table.Partition != schema.ByAccount {
			f.name = info.Day.String()
		}
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(cmp.Compare(a.info.Day, b.info.Day), cmp.Compare(a.info.SHA256, b.info.SHA256))
	})
	if len(files) > 0 && p.isMerged {
		files = []file{merged(s, c, files)}
	}
	return files, nil
}

// merged is the file of a closed month, made of its days. Its hash is one of theirs.
func merged(s *tableSpec, c partition, days []file) file {
	f := file{in: c, path: s.name + " of account " + c.account + ", " + monthName(c.month), name: monthName(c.month),
		info: &manifest.File{}, days: days}
	h := sha256.New()
	for _, d := range days {
		f.info.Rows += d.info.Rows
		f.info.Bytes += d.info.Bytes
		f.info.RunID = max(f.info.RunID, d.info.RunID)
		fmt.Fprintf(h, "%s %d", d.info.SHA256, d.info.Day)
	}
	f.info.SHA256 = hex.EncodeToString(h.Sum(nil))
	return f
}

// comparePartitions orders partitions by month, then account: what changes in one hour lies together, so
// that a commit reads few manifests however long the history is.
func comparePartitions(a, b partition) int {
	return cmp.Or(cmp.Compare(a.month, b.month), cmp.Compare(a.account, b.account))
}
