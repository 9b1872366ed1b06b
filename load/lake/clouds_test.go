package lake

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/io/gocloud/blobfs"
)

// azureLake is a warehouse in Azure.
const azureLake = "abfss://box@lake.dfs.core.windows.net/wh"

// metadataServer is the address of a metadata server of Google's that gives tokens.
func metadataServer(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Metadata-Flavor", "Google")
		if r.Header.Get("Metadata-Flavor") == "Google" && strings.HasSuffix(r.URL.Path, "/default/token") {
			_, _ = io.WriteString(w, `{"access_token":"token-canary","expires_in":3599,"token_type":"Bearer"}`)
		}
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

var privateKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// googleKey is the key file of a service account whose tokens come from an address.
func googleKey(t *testing.T, issuer string) []byte {
	key, err := privateKey()
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(map[string]string{"type": "service_account", "client_email": "lake@p.test",
		"token_uri": issuer, "private_key": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY",
			Bytes: x509.MarshalPKCS1PrivateKey(key)}))})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// secureSender is the authority that gives tokens of Azure; it redirects every request. The certificates are what it is
// trusted by.
func secureSender(t *testing.T, to string) (certificates []byte) {
	s := httptest.NewTLSServer(http.RedirectHandler(to, http.StatusTemporaryRedirect))
	t.Cleanup(s.Close)
	t.Setenv("AZURE_AUTHORITY_HOST", s.URL)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// openCloud opens the bucket at an address with a storage that answers every request the same.
func openCloud(t *testing.T, address string, storage http.HandlerFunc, props map[string]string) (*blobfs.FileIO,
	error) {
	s := httptest.NewServer(storage)
	t.Cleanup(s.Close)
	t.Setenv("GCE_METADATA_HOST", metadataServer(t))
	// Otherwise the library would ask this one, with a client of its own.
	t.Setenv("STORAGE_EMULATOR_HOST", "127.0.0.1:1")
	clouds, err := Options{GCSEndpoint: s.URL, AzureConnection: "AccountName=lake;AccountKey=Y2FuYXJ5;BlobEndpoint=" +
		s.URL}.clouds()
	if err != nil {
		t.Fatal(err)
	}
	files, err := iceio.LoadFS(context.WithValue(t.Context(), cloudsKey{}, clouds), props, address)
	if err != nil {
		return nil, err
	}
	return files.(*blobfs.FileIO), nil
}

// TestClouds_WhatIsForbiddenIsThere: a storage that lets us read or delete nothing is not taken for one without the
// object: "maintain" would count it as deleted.
func TestClouds_WhatIsForbiddenIsThere(t *testing.T) {
	for _, warehouse := range []string{"gs://lake/wh", azureLake} {
		for status, denied := range map[int]bool{403: true, 401: true, 404: false} {
			files, err := openCloud(t, warehouse, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.WriteHeader(status)
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			object := warehouse + "/object"
			_, openErr := files.Open(object)
			deleted, manyErr := files.DeleteFiles(t.Context(), []string{object})
			for what, err := range map[string]error{"open": openErr, "remove": files.Remove(object), "many": manyErr} {
				if what == "many" && !denied {
					if err != nil || len(deleted) != 1 {
						t.Errorf("%s: %d: deleted %v, %v", warehouse, status, deleted, err)
					}
					continue
				}
				if isNotThere(err) == denied || errors.Is(remote(what, err), ErrDenied) != denied {
					t.Errorf("%s: %d: %s: %v", warehouse, status, what, remote(what, err))
				}
			}
			if denied && len(deleted) > 0 {
				t.Errorf("%s: %d: %v was said to be deleted", warehouse, status, deleted)
			}
		}
	}
}

// TestClouds_HalfAnObjectIsNone: what can't be read to its end is not sent to its end.
func TestClouds_HalfAnObjectIsNone(t *testing.T) {
	broken := errors.New("the disk is broken")
	for _, warehouse := range []string{"gs://lake/wh", azureLake} {
		var whole atomic.Int64
		files, err := openCloud(t, warehouse, func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err == nil {
				whole.Add(1)
			}
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, "{}")
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		write := func(more io.Reader) error {
			return put(t.Context(), files, warehouse+"/object", io.MultiReader(strings.NewReader("half"), more))
		}
		if err := write(failing{broken}); !errors.Is(err, broken) || whole.Load() > 0 {
			t.Errorf("%s: %d objects were written: %v", warehouse, whole.Load(), err)
		}
		if err := write(strings.NewReader("half")); err != nil || whole.Load() == 0 {
			t.Errorf("%s: %v", warehouse, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestClouds_KnowTheirHosts: our key goes to the account that it is of, and a token or a SAS to Microsoft alone.
func TestClouds_KnowTheirHosts(t *testing.T) {
	for _, address := range []string{"abfss://box@lake.dfs.evil.test/wh",
		"abfss://box@lake.dfs.core.windows.net.evil.test/", "abfss://box@other.dfs.core.windows.net/wh",
		"abfss://lake.dfs.core.windows.net/wh",
		"abfss://box@evil.test/wh", "wasbs://box@lake.queue.core.windows.net/wh"} {
		_, err := openCloud(t, address, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") },
			map[string]string{iceio.ADLSSasTokenPrefix + "evil.test": "sig=canary", iceio.ADLSEndpoint: "evil.test"})
		if !errors.Is(remote("table", err), ErrForeign) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestClouds_TakeWhatTheCatalogVends: a token or a SAS for the table comes before our own credentials.
func TestClouds_TakeWhatTheCatalogVends(t *testing.T) {
	for warehouse, props := range map[string]map[string]string{
		"gs://lake/wh": {iceio.GCSOAuthToken: "vended", iceio.GCSServiceHost: "http://127.0.0.1:1"},
		azureLake:      {iceio.ADLSSasTokenPrefix + "lake.dfs.core.windows.net": "sv=2021&sig=vended"},
	} {
		var vended atomic.Bool
		files, err := openCloud(t, warehouse, func(w http.ResponseWriter, r *http.Request) {
			vended.Store(r.Header.Get("Authorization") == "Bearer vended" ||
				r.Header.Get("Authorization") == "" && r.URL.Query().Get("sig") == "vended")
			w.WriteHeader(http.StatusNotFound)
		}, props)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := files.Open(warehouse + "/object"); !isNotThere(err) || !vended.Load() {
			t.Errorf("%s: %v", warehouse, err)
		}
	}
}
