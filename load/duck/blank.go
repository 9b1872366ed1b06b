package duck

import (
	"context"
	"os"
	"path/filepath"

	"spendsync/load/durable"
)

// write puts a blank file at path and reports false where it cannot: a view
// that cannot be made has to be reported by each build.
func (b *Blanks) write(ctx context.Context, path string, o Options) (bool, error) {
	file, err := b.file(ctx, o)
	if err != nil || file == nil {
		return false, err
	}
	return true, durable.Storage(os.WriteFile(path, file, 0o644))
}

func (b *Blanks) file(ctx context.Context, o Options) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := o.ViewsDefinition()
	if file := b.files[key]; file != nil {
		return file, nil
	}
	if b.files == nil {
		b.files = map[string][]byte{}
	}
	if file, err := os.ReadFile(filepath.Join(b.Dir, key)); err == nil {
		b.files[key] = file
		return file, nil
	}
	if b.Dir != "" {
		if err := os.MkdirAll(b.Dir, 0o755); err != nil {
			return nil, durable.Storage(err)
		}
	}
	dir, err := os.MkdirTemp(b.Dir, "spendsync-blank-")
	if err != nil {
		return nil, durable.Storage(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, FileName)
	viewErrors, err := makeBlank(ctx, path, o)
	if err != nil || len(viewErrors) > 0 {
		return nil, err
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, durable.Storage(err)
	}
	if b.Dir != "" {
		if err := os.Rename(path, filepath.Join(b.Dir, key)); err != nil {
			return nil, durable.Storage(err)
		}
	}
	b.files[key] = file
	return file, nil
}

// makeBlank makes the file. The viewErrors are those of views.
func makeBlank(ctx context.Context, path string, o Options) (viewErrors []error, err error) {
	o.Dir = filepath.Dir(path)
	// Blocks of 16 KiB, the smallest: most are nearly empty, and each is copied and hashed by
	// every publication.
	o.blockSize = 16 << 10
	w, err := create(ctx, path, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = w.Stop(err) }()
	if viewErrors, err = makeViews(ctx, w.conn, o.Views); err != nil {
		return nil, err
	}
	return viewErrors, w.Finish(ctx)
}
