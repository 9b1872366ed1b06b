package remote

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"spendsync/load/durable"
)

// inClouds gives Google's and Azure's storage, which answer every request the same, to a test.
func inClouds(t *testing.T, answer http.HandlerFunc, test func(t *testing.T, b *Bucket)) {
	storage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answer(w, r)
	}))
	t.Cleanup(storage.Close)
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Metadata-Flavor", "Google")
		_, _ = io.WriteString(w, `{"access_token":"canary","expires_in":3599}`)
	}))
	t.Cleanup(tokens.Close)
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(tokens.URL, "http://"))
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "AccountName=acme;AccountKey=Y2FuYXJ5;BlobEndpoint="+storage.URL)
	for _, address := range []string{"gs://spend/store?endpoint=" + storage.URL, "azblob://spend/store"} {
		b, err := Open(t.Context(), address, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Run(address[:2], func(t *testing.T) { test(t, b) })
		_ = b.Close()
	}
}

// TestClouds_WhatTheyAnswer: replies of Google and Azure mean what those of S3 do, and no secret shows.
func TestClouds_WhatTheyAnswer(t *testing.T) {
	for _, reply := range []struct {
		status     int
		code, says string
		want       error
	}{
		{404, "BlobNotFound", "No such object: spend/store/current.json", errNotFound},
		{404, "ContainerNotFound", "The specified bucket does not exist.", ErrAddress},
		{403, "AuthorizationPermissionMismatch", "canary@p.test does not have storage.objects.get access", ErrDenied},
		{401, "NoAuthenticationInformation", "Invalid Credentials", ErrDenied},
		{412, "ConditionNotMet", "At least one of the pre-conditions did not hold", errChanged},
		{304, "ConditionNotMet", "", errSame},
		{307, "", "", ErrAddress},
	} {
		answer := func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Ms-Version") != "" {
				w.Header().Set("X-Ms-Error-Code", reply.code)
			}
			if reply.status == 307 {
				w.Header().Set("Location", "https://storage.example.com/")
			}
			w.WriteHeader(reply.status)
			if reply.status != 304 {
				_, _ = fmt.Fprintf(w, `{"error":{"code":%d,"message":%q}}`, reply.status, reply.says)
			}
		}
		t.Run(fmt.Sprint(reply.status, reply.code), func(t *testing.T) {
			inClouds(t, answer, func(t *testing.T, b *Bucket) {
				_, _, _, err := b.read(t.Context(), pointerName, "7")
				if !errors.Is(err, reply.want) || errors.Is(err, durable.ErrStorage) {
					t.Errorf("read: %v, want %v", err, reply.want)
				}
				if reply.want == errNotFound || reply.want == errSame { // of an object that is read
					return
				}
				if err := b.replace(t.Context(), pointerName, "7", []byte("{}")); !errors.Is(err, reply.want) {
					t.Errorf("replace: %v, want %v", err, reply.want)
				}
				if e, ok := errors.AsType[*Error](err); !ok || e.Status != reply.status {
					t.Errorf("%+v has not the status %d", e, reply.status)
				}
			})
		})
	}
}

// TestClouds_WritesNameWhatTheyReplace: the pointer is written over the one that was read, or over none.
func TestClouds_WritesNameWhatTheyReplace(t *testing.T) {
	var asked []string
	inClouds(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("ifGenerationMatch")+r.Header.Get("If-Match")+
			r.Header.Get("If-None-Match"))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "{}")
	}, func(t *testing.T, b *Bucket) {
		asked = nil
		for _, tag := range []string{"", "7"} {
			if err := b.replace(t.Context(), pointerName, tag, []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
		want := "[0 7]"
		if strings.HasPrefix(b.address, "azblob") {
			want = "[* 7]"
		}
		if fmt.Sprint(asked) != want {
			t.Errorf("conditions %q, want %s", asked, want)
		}
	})
}

// TestClouds_IncompleteReplies: where a storage leaves out what azureblob takes for granted, that is an error.
func TestClouds_IncompleteReplies(t *testing.T) {
	inClouds(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = nil
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		_, _ = io.WriteString(w, `<EnumerationResults><Blobs><Blob><Name>store/x</Name><Properties/></Blob></Blobs>`+
			`</EnumerationResults>`)
	}, func(t *testing.T, b *Bucket) {
		if !strings.HasPrefix(b.address, "azblob") {
			return
		}
		_, _, _, readErr := b.read(t.Context(), pointerName, "")
		copyErr := b.copy(t.Context(), indexName, pointerName)
		var listErr error
		for _, listErr = range b.list(t.Context(), "") {
			break
		}
		for what, err := range map[string]error{"read": readErr, "copy": copyErr, "list": listErr} {
			if !errors.Is(err, ErrUnavailable) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}
