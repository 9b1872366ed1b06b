package lake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// wantedFile is a Parquet file of the store that the lake should contain.
type wantedFile struct {
	account string
	path    string // below the data directory
	info    *manifest.File
}

// wanted returns the files of a table in the published generation, by key. It leaves out files without rows, because
// the table of coverage already records empty days.
func (f *follower) wanted(s *tableSpec) map[string]wantedFile {
	all := map[string]wantedFile{}
	for account, a := range f.store.Accounts {
		maps.Copy(all, wantedOf(account, a, s))
	}
	return all
}

func wantedOf(account string, a *manifest.Account, s *tableSpec) map[string]wantedFile {
	all := map[string]wantedFile{}
	for path, info := range a.Files {
		if info.Kind == manifest.KindParquet && info.Table == s.table.FullName() && info.Rows > 0 {
			w := wantedFile{account, path, info}
			all[w.key()] = w
		}
	}
	return all
}

// key identifies the content of the file: files with the same key contain the same rows. The name of the object in the
// lake is the key with a token appended.
func (w wantedFile) key() string {
	name := "all"
	if t := schema.Named(w.info.Table); t != nil && t.Partition != schema.ByAccount {
		name = w.info.Day.String()
	}
	return fmt.Sprintf("account=%s/%s-%s-%s", w.account, name, w.info.RunID, w.info.SHA256[:min(12,
		len(w.info.SHA256))])
}

// keyOf returns the key in an object's name. For an object of another program, the result differs from the key of every
// file.
func keyOf(object string) string {
	folder, name := path.Split(object)
	return path.Base(folder) + "/" + name[:max(0, strings.LastIndexByte(name, '-'))]
}

// dayOf returns the day in an object's name, or 0 if the file covers all days. It also reports whether spendsync made
// the name.
func dayOf(object string) (day schema.Date, ours bool) {
	folder, name := path.Split(object)
	if !strings.HasPrefix(path.Base(folder), "account=") {
		return 0, false
	}
	if strings.HasPrefix(name, "all-") {
		return 0, true
	}
	day, err := schema.ParseDate(name[:min(len(name), len(time.DateOnly))])
	return day, err == nil
}

// accountOf returns the account of a file in the lake. The account is a part of the file's partition.
func accountOf(d iceberg.DataFile) string {
	account, _ := d.Partition()[accountPartition].(string)
	return account
}

// errMoved reports that a newer generation has replaced a file of the store since the manifest was read. The follower
// then starts over with the newest manifest.
var errMoved = errors.New("the store has moved on")

// upload uploads a file of the store and returns its description. The token makes the object's name unique: if a later
// generation used the name again for a file with the same content, expiring an old snapshot would delete the object.
func (t *lakeTable) upload(ctx context.Context, dir string, w wantedFile, token string) (iceberg.DataFile, error) {
	b, err := os.ReadFile(filepath.Join(dir, w.path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", w.path, errMoved)
	} else if err != nil {
		return nil, fmt.Errorf("%w: %w", durable.ErrStorage, err)
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != w.info.SHA256 {
		return nil, fmt.Errorf("%s: %w", w.path, errMoved)
	}
	d, err := t.put(ctx, "data/"+w.key()+"-"+token+".parquet", b)
	if err == nil && (d.Count() != w.info.Rows || accountOf(d) != w.account) {
		err = fmt.Errorf("%s: %w: it holds %d rows of account %q, the manifest says %d of %q", w.path,
			durable.ErrDamaged, d.Count(), accountOf(d), w.info.Rows, w.account)
	}
	return d, err
}

// put writes an object to the table's folder. It returns the object's description, made from the Parquet footer:
// counts, bounds, partition.
func (t *lakeTable) put(ctx context.Context, name string, b []byte) (iceberg.DataFile, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	object := t.tbl.Location() + "/" + name
	files := iceio.NewMemFS() // the footer is read from memory, before the upload
	if err := files.WriteFile(object, b); err != nil {
		return nil, err
	}
	d, err := table.FileToDataFile(ctx, files, object, t.tbl.Schema(), t.tbl.Spec(),
		t.tbl.SortOrder().OrderID(), t.tbl.Properties())
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", object, durable.ErrDamaged, err)
	}
	return d, remote(object, t.fs.WriteFile(object, b))
}
