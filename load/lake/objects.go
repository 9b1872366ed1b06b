package lake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strings"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"
)

// The library lists folder by folder, checks that each object exists before deleting it, and takes
// 5 MiB of memory for each object that it writes. The code here lists and deletes by the thousand,
// and sends small objects in one piece.

// maxDeletes is how many objects S3 deletes at a request.
const maxDeletes = 1000

// bucket is what the library reads and writes objects with.
type bucket interface {
	List(*blob.ListOptions) *blob.ListIterator
	As(any) bool
}

// splitObject gives the address of an object's bucket, and its key in that.
func splitObject(object string) (address, key string) {
	scheme, rest, _ := strings.Cut(object, "://")
	name, key, _ := strings.Cut(rest, "/")
	return scheme + "://" + name + "/", key
}

// bucketOf is the name of the bucket of an address.
func bucketOf(address string) string {
	_, name, _ := strings.Cut(strings.TrimSuffix(address, "/"), "://")
	return name
}

// list gives the objects below a folder of the table: a request for each thousand.
func (t *lakeTable) list(ctx context.Context, folder string) iter.Seq2[*blob.ListObject, error] {
	return func(yield func(*blob.ListObject, error) bool) {
		b, ok := t.fs.(bucket)
		if !ok {
			t.walk(folder, yield)
			return
		}
		address, prefix := splitObject(t.tbl.Location() + folder)
		for all := b.List(&blob.ListOptions{Prefix: prefix}); ; {
			object, err := all.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil {
				object.Key = address + object.Key
			}
			if !yield(object, remote("list "+folder, err)) || err != nil {
				return
			}
		}
	}
}

// walk lists the files below a folder if the lake is on a disk.
func (t *lakeTable) walk(folder string, yield func(*blob.ListObject, error) bool) {
	disk, ok := t.fs.(iceio.ListableIO)
	if !ok {
		yield(nil, fmt.Errorf("%w: %T can't be listed", ErrForeign, t.fs))
		return
	}
	root := strings.TrimSuffix(t.tbl.Location()+folder, "/")
	err := disk.WalkDir(root, func(object string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && !yield(&blob.ListObject{Key: object, ModTime: info.ModTime(), Size: info.Size()}, nil) {
			err = fs.SkipAll
		}
		return err
	})
	if err != nil && !isNotThere(err) {
		yield(nil, remote("list "+folder, err))
	}
}

// remove deletes objects, whether they exist or not, a thousand per request. If the storage lacks
// that request, or refuses some objects, they are deleted one by one.
func (t *lakeTable) remove(ctx context.Context, objects []string) error {
	var client *s3.Client
	b, ok := t.fs.(bucket)
	ok = ok && b.As(&client)
	for len(objects) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		some := objects[:min(len(objects), maxDeletes)]
		objects = objects[len(some):]
		if ok && deleteMany(ctx, client, some) {
			continue
		}
		for _, object := range some {
			if err := t.fs.Remove(object); err != nil && !isNotThere(err) {
				return remote("delete", err)
			}
		}
	}
	return nil
}

// smallObject is how large an object is at most that is sent in one piece, from memory.
const smallObject = 1 << 20

// put writes an object. What is read and not finished must not become one.
func put(ctx context.Context, to iceio.WriteFileIO, object string, from io.Reader) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var begins bytes.Buffer
	var client *s3.Client
	if b, ok := to.(bucket); ok && b.As(&client) {
		_, err := io.CopyN(&begins, from, smallObject)
		if errors.Is(err, io.EOF) {
			address, key := splitObject(object)
			_, err = client.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String(bucketOf(address)),
				Key: aws.String(key), Body: bytes.NewReader(begins.Bytes())})
			return err
		} else if err != nil {
			return err
		}
	}
	w, err := to.Create(object)
	if err != nil {
		return err
	}
	_, err = w.ReadFrom(io.MultiReader(&begins, from))
	return errors.Join(err, w.Close())
}

// deleteMany deletes objects of one bucket in one request, and reports whether all were deleted.
func deleteMany(ctx context.Context, client *s3.Client, objects []string) bool {
	d := &types.Delete{Quiet: aws.Bool(true)}
	var address, key string
	for _, object := range objects {
		address, key = splitObject(object)
		d.Objects = append(d.Objects, types.ObjectIdentifier{Key: aws.String(key)})
	}
	out, err := client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: aws.String(bucketOf(address)), Delete: d})
	return err == nil && len(out.Errors) == 0
}
