// Package restsim simulates a REST catalog of Apache Iceberg in memory, for tests.
//
// Like real catalogs, the simulated catalog assigns its own ids to the columns of a new table, refuses a commit whose
// requirements no longer hold, and commits several tables together or not at all. Tests can make the catalog lose a
// reply, report a conflict, or be unavailable.
package restsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
)

// Catalog is the simulated catalog. It is an [http.Handler].
type Catalog struct {
	// Warehouse is the URL below which tables are stored, for example s3://lake.
	Warehouse string
	// Before, if not nil, is called before each commit. If Before returns an error, nothing is committed; the reply is
	// a conflict for [ErrConflict] and 503 for other errors.
	Before func(tables []string) error
	// After, if not nil, is called after each commit. If After returns an error, the reply is 503 although the commit
	// has happened.
	After func(tables []string) error
	// Away, if not nil, is called for each request. If Away returns true, the reply is 503.
	Away func() bool
	// NoTransactions makes the catalog refuse commits of several tables.
	NoTransactions bool

	mu         sync.Mutex
	namespaces map[string]bool
	tables     map[string]entry // by namespace/name
	requests   int
}

// ErrConflict reports that another client has committed first.
var ErrConflict = errors.New("a requirement no longer holds")

var errNotFound = errors.New("not found")

// none is the empty configuration in replies. Clients do not accept null in its place.
var none = map[string]string{}

type entry struct {
	meta     table.Metadata
	location string // of the metadata
}

// Requests returns the number of requests so far.
func (c *Catalog) Requests() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests
}

// Metadata returns the metadata of a table, or nil if the table does not exist.
func (c *Catalog) Metadata(namespace, name string) table.Metadata {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tables[namespace+"/"+name].meta
}

// Edit changes the JSON of a table's metadata without a commit.
func (c *Catalog) Edit(namespace, name string, edit func([]byte) []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.tables[namespace+"/"+name]
	b, err := json.Marshal(e.meta)
	if err == nil {
		e.meta, err = table.ParseMetadataBytes(edit(b))
	}
	if err == nil {
		c.tables[namespace+"/"+name] = e
	}
	return err
}

// Forget drops a table without a commit, as an administrator might.
func (c *Catalog) Forget(namespace, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tables, namespace+"/"+name)
}

type identifier struct {
	Namespace []string `json:"namespace"`
	Name      string   `json:"name"`
}

func (i identifier) key() string { return strings.Join(i.Namespace, ".") + "/" + i.Name }

type change struct {
	Identifier   identifier         `json:"identifier"`
	Requirements table.Requirements `json:"requirements"`
	Updates      table.Updates      `json:"updates"`
}

// ServeHTTP answers one request.
func (c *Catalog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	if c.tables == nil {
		c.tables, c.namespaces = map[string]entry{}, map[string]bool{}
	}
	if c.Away != nil && c.Away() {
		fail(w, http.StatusServiceUnavailable, errors.New("away"))
		return
	}
	path := strings.Split(strings.Trim(strings.TrimPrefix(r.URL.Path, "/v1"), "/"), "/")
	answer, err := c.answer(r, path)
	switch {
	case errors.Is(err, errNotFound):
		fail(w, http.StatusNotFound, err)
	case errors.Is(err, ErrConflict):
		fail(w, http.StatusConflict, err)
	case errors.Is(err, errLost):
		fail(w, http.StatusServiceUnavailable, err)
	case err != nil:
		fail(w, http.StatusBadRequest, err)
	case answer == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(answer)
	}
}

var errLost = errors.New("unavailable")

func fail(w http.ResponseWriter, code int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	kind := map[int]string{404: "NoSuchTableException", 409: "CommitFailedException"}[code]
	json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": err.Error(), "type": kind,
		"code": code}})
}

func (c *Catalog) answer(r *http.Request, path []string) (any, error) {
	method := r.Method + " " + path[0]
	switch {
	case method == "GET config":
		return c.config(), nil
	case method == "POST transactions":
		var body struct {
			Changes []change `json:"table-changes"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return nil, err
		}
		return nil, c.commit(body.Changes)
	case method == "POST namespaces" && len(path) == 1:
		var body struct {
			Namespace []string `json:"namespace"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return nil, err
		}
		c.namespaces[strings.Join(body.Namespace, ".")] = true
		return map[string]any{"namespace": body.Namespace, "properties": map[string]string{}}, nil
	case path[0] != "namespaces" || len(path) < 2:
		return nil, fmt.Errorf("%w: %s", errNotFound, r.URL.Path)
	}
	return c.inNamespace(r, strings.ReplaceAll(path[1], "\x1f", "."), path[2:])
}

func (c *Catalog) config() any {
	endpoints := []string{"POST /v1/{prefix}/namespaces", "GET /v1/{prefix}/namespaces/{namespace}",
		"HEAD /v1/{prefix}/namespaces/{namespace}", "POST /v1/{prefix}/namespaces/{namespace}/tables",
		"GET /v1/{prefix}/namespaces/{namespace}/tables/{table}",
		"POST /v1/{prefix}/namespaces/{namespace}/tables/{table}",
		"HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}"}
	if !c.NoTransactions {
		endpoints = append(endpoints, "POST /v1/{prefix}/transactions/commit")
	}
	return map[string]any{"defaults": none, "overrides": none, "endpoints": endpoints}
}

func (c *Catalog) inNamespace(r *http.Request, namespace string, path []string) (any, error) {
	if !c.namespaces[namespace] {
		return nil, fmt.Errorf("%w: namespace %s", errNotFound, namespace)
	}
	switch len(path) {
	case 0:
		return map[string]any{"namespace": strings.Split(namespace, "."), "properties": map[string]string{}}, nil
	case 1:
		return c.create(r, namespace)
	}
	id := identifier{strings.Split(namespace, "."), path[1]}
	if r.Method == http.MethodPost {
		var body change
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return nil, err
		}
		body.Identifier = id
		if err := c.commit([]change{body}); err != nil {
			return nil, err
		}
	}
	e, ok := c.tables[id.key()]
	if !ok {
		return nil, fmt.Errorf("%w: table %s", errNotFound, id.key())
	}
	return map[string]any{"metadata-location": e.location, "metadata": e.meta, "config": none}, nil
}

// create makes a table. If the request has stage-create, it only returns the metadata that the table would have. The
// columns are numbered from 1.
func (c *Catalog) create(r *http.Request, namespace string) (any, error) {
	var body struct {
		Name     string                 `json:"name"`
		Location string                 `json:"location"`
		Schema   *iceberg.Schema        `json:"schema"`
		Spec     *iceberg.PartitionSpec `json:"partition-spec"`
		Order    *table.SortOrder       `json:"write-order"`
		Stage    bool                   `json:"stage-create"`
		Props    iceberg.Properties     `json:"properties"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, err
	}
	id := identifier{strings.Split(namespace, "."), body.Name}
	if _, exists := c.tables[id.key()]; exists {
		return nil, fmt.Errorf("%w: table %s exists", ErrConflict, body.Name)
	}
	if body.Location == "" {
		body.Location = strings.TrimSuffix(c.Warehouse, "/") + "/" + namespace + "/" + body.Name
	}
	order := table.UnsortedSortOrder
	if body.Order != nil {
		order = *body.Order
	}
	meta, err := table.NewMetadata(body.Schema, body.Spec, order, body.Location, body.Props)
	if err != nil {
		return nil, err
	}
	if body.Stage {
		return map[string]any{"metadata": meta, "config": none}, nil
	}
	e := entry{meta: meta}.stored()
	c.tables[id.key()] = e
	return map[string]any{"metadata-location": e.location, "metadata": e.meta, "config": none}, nil
}

// commit applies all changes, or no change if one fails.
func (c *Catalog) commit(changes []change) error {
	var names []string
	for _, one := range changes {
		names = append(names, one.Identifier.Name)
	}
	if c.Before != nil {
		if err := c.Before(names); errors.Is(err, ErrConflict) {
			return err
		} else if err != nil {
			return fmt.Errorf("%w: %v", errLost, err)
		}
	}
	next := map[string]entry{}
	for _, one := range changes {
		e := c.tables[one.Identifier.key()]
		changed, err := apply(e, one)
		if err != nil {
			return err
		}
		next[one.Identifier.key()] = changed.stored()
	}
	maps.Copy(c.tables, next)
	if c.After != nil {
		if err := c.After(names); err != nil {
			return fmt.Errorf("%w: %v", errLost, err)
		}
	}
	return nil
}

func apply(e entry, one change) (entry, error) {
	for _, r := range one.Requirements {
		if err := r.Validate(e.meta); err != nil {
			return e, fmt.Errorf("%w: table %s: %w", ErrConflict, one.Identifier.Name, err)
		}
	}
	if e.meta != nil {
		meta, err := table.UpdateTableMetadata(e.meta, one.Updates, e.location)
		e.meta = meta
		return e, err
	}
	b, err := table.NewMetadataBuilder(2)
	if err != nil {
		return e, err
	}
	for _, u := range one.Updates {
		if err := u.Apply(b); err != nil {
			return e, fmt.Errorf("%s: %w", u.Action(), err)
		}
	}
	e.meta, err = b.Build()
	return e, err
}

// stored returns the entry with the location of a new metadata file. No file is written, because the clients of tests
// take the metadata from the replies.
func (e entry) stored() entry {
	e.location = fmt.Sprintf("%s/metadata/%s.metadata.json", e.meta.Location(), uuid.New())
	return e
}
