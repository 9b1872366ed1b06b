package lake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/iceberg-go"
	icebergcatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	iceio "github.com/apache/iceberg-go/io"
	_ "github.com/apache/iceberg-go/io/gocloud/s3" // tables in S3
	"github.com/apache/iceberg-go/table"
	"github.com/apache/iceberg-go/utils"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"spendsync/extract/outbound"
	"spendsync/load/clouds"
)

// SnapshotAge is how long snapshots are kept, and with them the older generations.
const SnapshotAge = 7 * 24 * time.Hour

// Options locate the lake.
type Options struct {
	Catalog    string // address of the REST catalog
	Warehouse  string // what the catalog calls the warehouse
	Namespace  string // of the tables
	Credential string // OAuth2 client credentials, "id:secret"
	Token      string // bearer token
	OAuthURL   string // token endpoint for client credentials; empty: at the catalog
	Scope      string // OAuth2 scope
	SigV4      string // sign requests for this AWS service: glue, s3tables
	Region     string // AWS region
	S3Endpoint string // of another S3 than Amazon's
	AccessKey  string // empty: as the AWS SDK finds credentials
	SecretKey  string

	GCSEndpoint string // of Google's storage, where it is not the public one
	GoogleKey   []byte // a key file of Google, as JSON; nil: the machine's metadata server

	AzureConnection string // connection string of a storage account; empty: the identity below
	AzureTenant     string
	AzureClient     string
	AzureSecret     string // of an application
	AzureTokenFile  string // of a workload identity; without it and a secret: the machine's managed identity

	AllowHTTP bool // send without TLS to other machines
	Version   string
	CABundle  []byte           // certificates, as PEM, that the object storage is trusted by; nil: the system's
	Now       func() time.Time // nil: the clock

	// Step is told of each step of a commit; its error ends the commit there. Tests let it die so; nil: nobody.
	Step func(name string) error

	transport *outbound.Transport // tests: to the catalog
}

// Lake is a namespace of a catalog. It is for one caller at a time.
type Lake struct {
	opts     Options
	catalog  *rest.Catalog
	specs    []*tableSpec
	requests atomic.Int64
	ahead    atomic.Int64                          // of our clock, in nanoseconds, to the catalog's
	storage  func(context.Context) context.Context // with the credentials of the object storage

	transacts bool // the last commit of several tables was one transaction
}

// lakeTable is a table as the catalog has it.
type lakeTable struct {
	name    string
	spec    *tableSpec
	tbl     *table.Table
	fs      iceio.WriteFileIO
	schema  *iceberg.Schema       // with the columns that it lacks
	missing []iceberg.NestedField // columns that the lake's table lacks
	foreign []string              // columns that somebody else has added
}

func init() {
	// iceberg-go logs warnings about failed clean-ups; they may contain addresses, and call for no
	// action.
	log.SetOutput(io.Discard)
}

// Open connects to the catalog. It asks for its configuration and nothing else.
func Open(ctx context.Context, o Options) (*Lake, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	for _, address := range []string{o.Catalog, o.OAuthURL, o.S3Endpoint, o.GCSEndpoint} {
		if err := clouds.CheckURL(address, o.AllowHTTP); err != nil {
			return nil, err
		}
	}
	l := &Lake{opts: o, specs: specs()}
	transport := o.catalogTransport()
	props := iceberg.Properties{}
	set := func(name, value string) {
		if value != "" {
			props[name] = value
		}
	}
	set(iceio.S3EndpointURL, o.S3Endpoint)
	set(iceio.S3Region, o.Region)
	set(iceio.S3AccessKeyID, o.AccessKey)
	set(iceio.S3SecretAccessKey, o.SecretKey)
	cloud, err := o.storageConfig(ctx)
	if err != nil {
		return nil, err
	}
	others, err := o.clouds()
	if err != nil {
		return nil, err
	}
	login := o.login(watched{transport, l})
	opts := []rest.Option{rest.WithCustomTransport(replies{watched{transport, l}, login}),
		rest.WithAdditionalProps(props), rest.WithAwsConfig(cloud)}
	if o.Warehouse != "" {
		opts = append(opts, rest.WithWarehouseLocation(o.Warehouse))
	}
	if login != nil {
		opts = append(opts, rest.WithAuthManager(login))
	}
	if o.Token != "" {
		opts = append(opts, rest.WithOAuthToken(o.Token))
	}
	if o.SigV4 != "" {
		opts = append(opts, rest.WithSigV4RegionSvc(o.Region, o.SigV4))
	}
	// Without a name: it would be the catalog of the tables that a view reads, and readers choose their own.
	c, err := rest.NewCatalog(ctx, "", o.Catalog, opts...)
	if err != nil {
		return nil, remote("catalog", err)
	}
	l.catalog = c
	// The credentials that a catalog vends for a table take precedence. Read once: each reading takes longer than a
	// request.
	l.storage = func(ctx context.Context) context.Context {
		return utils.WithAwsConfig(context.WithValue(ctx, cloudsKey{}, others), &cloud)
	}
	return l, nil
}

// Close ends the connections.
func (l *Lake) Close() error { return l.catalog.Close() }

// watched counts the requests to a catalog and compares its clock with ours.
type watched struct {
	http.RoundTripper
	lake *Lake
}

func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	w.lake.requests.Add(1)
	reply, err := w.RoundTripper.RoundTrip(r)
	if err == nil {
		if at, err := http.ParseTime(reply.Header.Get("Date")); err == nil {
			w.lake.ahead.Store(int64(w.lake.opts.Now().Sub(at)))
		}
	}
	return reply, err
}

// namespace is the namespace of the tables: its parts are divided by dots.
func (l *Lake) namespace() table.Identifier { return strings.Split(l.opts.Namespace, ".") }

// markerSpec is lake_generation, which comes after all others.
func (l *Lake) markerSpec() *tableSpec { return l.specs[len(l.specs)-1] }

// dataSpecs are all tables but lake_generation.
func (l *Lake) dataSpecs() []*tableSpec { return l.specs[:len(l.specs)-1] }

func (l *Lake) identifier(name string) table.Identifier { return append(l.namespace(), name) }

func (l *Lake) step(name string) error {
	if l.opts.Step == nil {
		return nil
	}
	return l.opts.Step(name)
}

// loadOrCreate loads a table, or creates it if it does not exist.
func (l *Lake) loadOrCreate(ctx context.Context, s *tableSpec) (*lakeTable, error) {
	t, err := l.load(ctx, s)
	if err == nil && t == nil {
		t, err = l.create(ctx, s)
	}
	return t, err
}

// load loads a table and compares it with ours; nil: it is not there.
func (l *Lake) load(ctx context.Context, s *tableSpec) (*lakeTable, error) {
	tbl, err := l.catalog.LoadTable(ctx, l.identifier(s.name))
	if errors.Is(err, icebergcatalog.ErrNoSuchTable) || errors.Is(err, icebergcatalog.ErrNoSuchNamespace) {
		return nil, nil
	} else if err != nil {
		return nil, remote("table "+s.name, err)
	}
	return l.adopt(ctx, s, tbl)
}

// adopt compares a table of the catalog with ours, and refuses it if it differs.
func (l *Lake) adopt(ctx context.Context, s *tableSpec, tbl *table.Table) (*lakeTable, error) {
	t := &lakeTable{name: s.name, spec: s, tbl: tbl, schema: tbl.Schema()}
	if tbl.Metadata().Version() != 2 {
		return nil, fmt.Errorf("%w: table %s is of format %d, not 2", ErrForeign, s.name, tbl.Metadata().Version())
	}
	if err := s.checkVersion(tbl.Properties()); err != nil {
		return nil, err
	}
	if err := s.checkParts(tbl.Spec()); err != nil {
		return nil, err
	}
	var err error
	if t.missing, t.foreign, err = s.compare(tbl.Schema()); err != nil {
		return nil, err
	}
	if len(t.missing) > 0 && tbl.Properties()[versionProperty] == s.props[versionProperty] {
		return nil, fmt.Errorf("%w: table %s had the column %s, and somebody has dropped it", ErrForeign, s.name,
			t.missing[0].Name)
	}
	if len(t.missing) > 0 {
		t.schema = s.extended(tbl.Schema(), t.missing)
	}
	fs, err := tbl.FS(l.storage(ctx))
	if errors.Is(err, iceio.ErrIOSchemeNotFound) {
		return nil, fmt.Errorf("%w: table %s lies at %s, and only s3://, gs://, abfss:// and file:// are built in",
			ErrForeign, s.name, tbl.Location())
	} else if err != nil {
		return nil, remote("table "+s.name, err)
	}
	var ok bool
	if t.fs, ok = fs.(iceio.WriteFileIO); !ok {
		return nil, fmt.Errorf("%w: table %s lies where one can't write: %T", ErrForeign, s.name, fs)
	}
	return t, nil
}

// tables loads every table that is there.
func (l *Lake) tables(ctx context.Context) (map[string]*lakeTable, error) {
	return l.each(ctx, l.specs, l.load)
}

// each gets tables, a few at a time.
func (l *Lake) each(ctx context.Context, specs []*tableSpec,
	get func(context.Context, *tableSpec) (*lakeTable, error)) (map[string]*lakeTable, error) {
	loaded := make([]*lakeTable, len(specs))
	var g errgroup.Group // not one with a context: the tables keep theirs
	g.SetLimit(4)
	for i, s := range specs {
		g.Go(func() (err error) {
			loaded[i], err = get(ctx, s)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	all := map[string]*lakeTable{}
	for i, s := range specs {
		if loaded[i] != nil {
			all[s.name] = loaded[i]
		}
	}
	return all, nil
}

// ensureNamespace makes the namespace where it is not there, and reports whether it did.
func (l *Lake) ensureNamespace(ctx context.Context) (made bool, err error) {
	there, err := l.catalog.CheckNamespaceExists(ctx, l.namespace())
	if err == nil && !there {
		err = l.catalog.CreateNamespace(ctx, l.namespace(), nil)
		made = err == nil
	}
	if errors.Is(err, icebergcatalog.ErrNamespaceAlreadyExists) {
		err = nil
	}
	return made, remote("namespace "+l.opts.Namespace, err)
}

// manifests are those of the current snapshot; none where the table is empty.
func (t *lakeTable) manifests() ([]iceberg.ManifestFile, error) {
	current := t.tbl.CurrentSnapshot()
	if current == nil {
		return nil, nil
	}
	all, err := current.Manifests(t.fs)
	return all, remote(t.name, err)
}

// foreignColumns names the columns that somebody else has added to tables, as table.column.
func (l *Lake) foreignColumns(tables map[string]*lakeTable) (names []string) {
	for _, s := range l.specs {
		if t := tables[s.name]; t != nil {
			for _, column := range t.foreign {
				names = append(names, t.name+"."+column)
			}
		}
	}
	return names
}

func (t *lakeTable) uuid() uuid.UUID { return t.tbl.Metadata().TableUUID() }

// byUs reports whether spendsync wrote every snapshot since the given one: then the table matches
// the marker. If that snapshot has expired, the answer is no.
func (t *lakeTable) byUs(since int64) bool {
	for s := t.tbl.CurrentSnapshot(); s != nil; {
		if s.SnapshotID == since {
			return true
		}
		if s.Summary == nil || s.Summary.Properties[generationNote] == "" || s.ParentSnapshotID == nil {
			return false
		}
		s = t.tbl.SnapshotByID(*s.ParentSnapshotID)
	}
	return false
}
