package inbox

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"spendsync/load/durable"
	"spendsync/load/lake"
	"spendsync/load/manifest"
)

// folderName is the folder of the descriptions beside lake_generation: STORE/GENERATION-RUN.json.zst in it.
const folderName = "inbox"

// description is what a store wants of the lake, as a follower leaves it in the inbox: a line of
// JSON, and the manifest.
type description struct {
	WrittenAt time.Time
	Knows     []string // runs that the store knows, of those that the lake may have
	lake.Uploads

	note note
	m    *manifest.Listing // until it is closed
	file *os.File
}

func (d *description) close() { d.file.Close() }

// note is a description in the inbox, parsed from its object name.
type note struct {
	object     string
	store      string // the first account of the store
	generation int64
	run        string
	at         time.Time
}

// list gives the descriptions of a store, or of all, older generations first.
func list(ctx context.Context, folder *lake.Folder, store string) (all []note, err error) {
	if store != "" {
		store += "/"
	}
	for object, err := range folder.List(ctx, store) {
		if err != nil {
			return nil, err
		}
		name, ours := strings.CutSuffix(path.Base(object.Key), ".json.zst")
		text, run, _ := strings.Cut(name, "-")
		generation, err := strconv.ParseInt(text, 10, 64)
		if err == nil && ours {
			all = append(all, note{object.Key, path.Base(path.Dir(object.Key)), generation, run, object.ModTime})
		}
	}
	slices.SortStableFunc(all, func(a, b note) int { return cmp.Compare(a.generation, b.generation) })
	return all, nil
}

// drop deletes descriptions, the newest of each store last: what an interruption leaves is still in order.
func drop(ctx context.Context, folder *lake.Folder, notes []note) error {
	newest := map[string]string{}
	for _, n := range notes {
		newest[n.store] = n.object
	}
	var older, last []string
	for _, n := range notes {
		if newest[n.store] == n.object {
			last = append(last, n.object)
		} else {
			older = append(older, n.object)
		}
	}
	if err := folder.Remove(ctx, older); err != nil {
		return err
	}
	return folder.Remove(ctx, last)
}

// put leaves a description in the inbox.
func (d *description) put(ctx context.Context, folder *lake.Folder, store string, m *manifest.Listing) error {
	line, err := json.Marshal(d)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s/%d-%s.json.zst", store, m.Manifest.Generation, m.Manifest.RunID)
	return putCompressed(ctx, folder, name, io.MultiReader(bytes.NewReader(append(line, '\n')), m.Text()))
}

// read opens a description.
func read(folder *lake.Folder, n note) (*description, error) {
	file, err := readCompressed(folder, n.object)
	if err != nil {
		return nil, err
	}
	d := &description{note: n, file: file}
	line, err := bufio.NewReader(file).ReadBytes('\n')
	var size int64
	if err == nil {
		size, err = file.Seek(0, io.SeekEnd)
	}
	if err == nil {
		err = json.Unmarshal(line, d)
	}
	if err == nil {
		d.m, err = manifest.NewListing(io.NewSectionReader(file, int64(len(line)), size), size-int64(len(line)))
	}
	if err == nil && d.m.Manifest.RunID != n.run {
		err = errors.New("it is of run " + d.m.Manifest.RunID)
	}
	if errors.Is(err, lake.ErrNewer) {
		err = fmt.Errorf("inbox: %w", err)
	} else if err != nil {
		err = fmt.Errorf("%w: %s is not a description of run %s: %v", lake.ErrForeign, n.object, n.run, err)
	}
	if err != nil {
		d.close()
	}
	return d, err
}

// putCompressed writes an object, compressed by zstd on its way.
func putCompressed(ctx context.Context, folder *lake.Folder, name string, content io.Reader) error {
	r, w := io.Pipe()
	defer r.Close()
	go func() {
		encoder, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
		if err == nil {
			_, err = io.Copy(encoder, content)
			err = errors.Join(err, encoder.Close())
		}
		w.CloseWithError(err)
	}()
	return folder.Put(ctx, name, r)
}

// Limits of what an object may unpack to: a manifest of 200 accounts with ten years of days takes less than either.
const (
	maxUnpacked = 4 << 30
	maxRatio    = 200 // our manifests compress to a tenth
	freeUnpack  = 1 << 20
)

// readCompressed decompresses an object into a file without a name. No manifest records the decompressed size, so
// the size of the object limits it: 200 KB of zstd can hold 6 GB.
func readCompressed(folder *lake.Folder, object string) (_ *os.File, err error) {
	f, err := folder.Open(object)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", object, lake.ErrUnreachable, err)
	}
	limit := min(maxUnpacked, freeUnpack+info.Size()*maxRatio)
	decoder, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked),
		zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	to, err := tempFile()
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(to, io.LimitReader(decoder, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("%w: %s: %d bytes unpack to more than %d", lake.ErrForeign, object, info.Size(), limit)
	}
	if err == nil {
		_, err = to.Seek(0, io.SeekStart)
	}
	if err != nil {
		to.Close()
	}
	return to, err
}

// tempFile is a file without a name.
func tempFile() (*os.File, error) {
	f, err := os.CreateTemp("", "spendsync-lake-")
	if err == nil {
		err = os.Remove(f.Name())
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", durable.ErrStorage, err)
	}
	return f, nil
}
