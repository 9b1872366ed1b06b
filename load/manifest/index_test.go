package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"spendsync/load/durable"
)

// TestOpenIndexed_IsTheListing: by the index or by the text, a listing is the same; and whoever decodes the manifest
// does not see it.
func TestOpenIndexed_IsTheListing(t *testing.T) {
	m := large()
	text, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName), text, 0o600); err != nil {
		t.Fatal(err)
	}
	by := func(open func(string) (*Listing, error)) *Listing {
		l, err := open(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	}
	indexed, whole := by(OpenIndexed), by(OpenListing)
	if indexed.gaps == 0 || whole.gaps != 0 {
		t.Fatal("the index was not read")
	}
	if !reflect.DeepEqual(indexed.Accounts, whole.Accounts) || !reflect.DeepEqual(indexed.Manifest, whole.Manifest) {
		t.Errorf("%+v is not %+v", indexed.Manifest, whole.Manifest)
	}
	rest, err := indexed.Rest()
	want, wantErr := whole.Rest()
	if err != nil || wantErr != nil || !bytes.Equal(rest, want) {
		t.Errorf("the rest has %d bytes, not %d: %v, %v", len(rest), len(want), err, wantErr)
	}
	var plain map[string]json.RawMessage
	if err := json.Unmarshal(text, &plain); err != nil || len(plain["index"]) > len(text)/50 {
		t.Errorf("the index has %d bytes of %d: %v", len(plain["index"]), len(text), err)
	}
	again, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := again.Encode(); err != nil || !bytes.Equal(b, text) {
		t.Errorf("decoded and encoded it has %d bytes, not %d: %v", len(b), len(text), err)
	}
	small := New()
	small.Generation = 1
	if b, err := small.Encode(); err != nil || strings.Contains(string(b), "index") {
		t.Errorf("a small one has an index, too: %v", err)
	}
}

// TestOpenIndexed_ProvesWhatItReads: a changed byte is found by whoever reads what it is part of, and by nobody else.
func TestOpenIndexed_ProvesWhatItReads(t *testing.T) {
	text, err := large().Encode()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	spoil := func(at int) (*Listing, error) {
		b := bytes.Clone(text)
		b[at] ^= 1
		if err := os.WriteFile(filepath.Join(dir, FileName), b, 0o600); err != nil {
			t.Fatal(err)
		}
		return OpenIndexed(dir)
	}
	for _, place := range []string{`"checksum": "`, `"run_id": "R7`, `"views": "`, `"index": "`, "\n}"} {
		l, err := spoil(strings.LastIndex(string(text), place) + len(place) - 1)
		if !errors.Is(err, durable.ErrDamaged) {
			t.Errorf("%s: %v, %v", place, l, err)
		}
	}
	l, err := spoil(strings.Index(string(text), `"spend_daily"`) + 2)
	if err != nil {
		t.Fatal(err)
	}
	var errs []error
	for _, a := range l.Accounts {
		for _, g := range a.Groups {
			if g.Folder != DaysFolder {
				_, err := l.Files(a.Name, g)
				errs = append(errs, err)
			}
		}
	}
	if err := errors.Join(errs...); !errors.Is(err, durable.ErrDamaged) || len(strings.Split(err.Error(), "\n")) != 1 {
		t.Errorf("a file: %v", err)
	}
	if _, err := l.Rest(); err != nil {
		t.Errorf("a file, the rest: %v", err)
	}
	if l, err = spoil(strings.Index(string(text), `"settled_campaigns"`) + 2); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Rest(); !errors.Is(err, durable.ErrDamaged) {
		t.Errorf("the rest: %v", err)
	}
}
