package job_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"spendsync/cmd/internal/exit"
)

// sparseCreatives lists creatives with these fields alone. alone counts the reads of one creative.
type sparseCreatives struct {
	http.RoundTripper
	fields []string
	single bool // the read of one creative has no more than that either
	alone  atomic.Int64
}

func (s *sparseCreatives) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.RoundTripper.RoundTrip(r)
	isList := strings.HasSuffix(r.URL.Path, "/creatives")
	isOne := strings.Contains(r.URL.Path, "/creatives/")
	if isOne {
		s.alone.Add(1)
	}
	if err != nil || resp.StatusCode != http.StatusOK || !isList && !(isOne && s.single) {
		return resp, err
	}
	var body map[string]json.RawMessage
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		return nil, err
	}
	only := func(creative json.RawMessage) json.RawMessage {
		var all map[string]json.RawMessage
		if json.Unmarshal(creative, &all) != nil {
			return creative
		}
		kept := map[string]json.RawMessage{}
		for _, key := range s.fields {
			kept[key] = all[key]
		}
		text, err := json.Marshal(kept)
		if err != nil {
			panic(err) // it was JSON before
		}
		return text
	}
	if isOne {
		body["creative"] = only(body["creative"])
	} else {
		var list []json.RawMessage
		if err := json.Unmarshal(body["creatives"], &list); err != nil {
			return nil, err
		}
		for i := range list {
			list[i] = only(list[i])
		}
		if body["creatives"], err = json.Marshal(list); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(body)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	resp.Header.Del("Content-Length")
	return resp, err
}

// TestCreatives_OfASparseListAreReadAlone: where the list of creatives lacks fields that every creative has, each is
// read by itself, and all of it is stored. Where that brings nothing more, a run asks for a few only, and says what it
// could not read.
func TestCreatives_OfASparseListAreReadAlone(t *testing.T) {
	t.Parallel()
	w := newQuirkWorld(t)
	w.page = 1000
	sparse := &sparseCreatives{RoundTripper: w.service.Transport(), fields: []string{"id", "status"}}
	w.transport = sparse
	for range 2 {
		r := w.sync()
		if r.Run.ExitCode != exit.OK || w.settings() != "" {
			t.Errorf("exit %d, stored otherwise: %s: %s", r.Run.ExitCode, w.settings(), r.Run.Message.V)
		}
	}
	if n := sparse.alone.Load(); n < 10 {
		t.Errorf("%d creatives were read by themselves", n)
	}

	vain := newQuirkWorld(t)
	vain.page = 1000
	sparse = &sparseCreatives{RoundTripper: vain.service.Transport(), fields: []string{"id", "status"}, single: true}
	vain.transport = sparse
	r := vain.sync()
	// Four campaigns are read beside each other, and each may be about to ask; drafts count by themselves.
	if n := sparse.alone.Load(); r.Run.ExitCode != exit.Partial || n < 3 || n > 12 {
		t.Errorf("exit %d, %d creatives were read by themselves: %s", r.Run.ExitCode, n, r.Run.Message.V)
	}
}
