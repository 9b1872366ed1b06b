package lake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/url"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	icebergcatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	iceio "github.com/apache/iceberg-go/io"
	_ "github.com/apache/iceberg-go/io/gocloud/s3" // tables in S3
	"github.com/apache/iceberg-go/table"
	"github.com/apache/iceberg-go/utils"
	"golang.org/x/sync/errgroup"
)

// SnapshotAge is how long snapshots are kept. Readers can use an older generation while its snapshots exist.
const SnapshotAge = 7 * 24 * time.Hour

// Options locate the lake.
type Options struct {
	Catalog    string // address of the REST catalog
	Warehouse  string // the catalog's name of the warehouse
	Namespace  string // namespace of the tables; dots separate its parts
	Credential string // OAuth2 client credentials, "id:secret"
	Token      string // bearer token
	OAuthURL   string // token endpoint for client credentials; if empty, the catalog's own endpoint
	Scope      string // OAuth2 scope
	SigV4      string // the AWS service for which requests are signed: glue, s3tables
	Region     string // AWS region
	S3Endpoint string // address of the object storage; if empty, Amazon S3
	AccessKey  string // if empty, the AWS SDK finds the credentials
	SecretKey  string

	AllowHTTP bool // whether requests to other machines may be sent without TLS
	Version   string
	Now       func() time.Time // if nil, time.Now is used
}

// Lake is a namespace of a catalog. Its methods must not be called concurrently.
type Lake struct {
	opts    Options
	catalog *rest.Catalog
	specs   []*tableSpec                          // lake_generation last
	storage func(context.Context) context.Context // returns a context with the credentials of the object storage
}

// lakeTable is a table that was loaded from the catalog.
type lakeTable struct {
	*tableSpec
	tbl     *table.Table
	fs      iceio.WriteFileIO
	missing []iceberg.NestedField // our columns that the table lacks
}

func init() {
	// iceberg-go logs warnings about failed clean-ups. These warnings are discarded: they may contain URLs, and require
	// no action.
	log.SetOutput(io.Discard)
}

// Open connects to the catalog. It requests the catalog's configuration, and a token if there are client credentials,
// but loads no table.
func Open(ctx context.Context, o Options) (*Lake, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	for _, address := range []string{o.Catalog, o.OAuthURL, o.S3Endpoint} {
		if err := checkURL(address, o.AllowHTTP); err != nil {
			return nil, err
		}
	}
	props := iceberg.Properties{}
	for name, value := range map[string]string{iceio.S3EndpointURL: o.S3Endpoint, iceio.S3Region: o.Region,
		iceio.S3AccessKeyID: o.AccessKey, iceio.S3SecretAccessKey: o.SecretKey} {
		if value != "" {
			props[name] = value
		}
	}
	cloud, err := o.storageConfig(ctx)
	if err != nil {
		return nil, err
	}
	opts := []rest.Option{rest.WithCustomTransport(busy{o.catalogTransport()}), rest.WithAdditionalProps(props),
		rest.WithAwsConfig(cloud), rest.WithCredential(o.Credential), rest.WithOAuthToken(o.Token),
		rest.WithScope(o.Scope), rest.WithWarehouseLocation(o.Warehouse)}
	if o.OAuthURL != "" {
		at, err := url.Parse(o.OAuthURL)
		if err != nil {
			return nil, fmt.Errorf("%w: it can't be parsed", ErrWrongURL)
		}
		opts = append(opts, rest.WithAuthURI(at))
	}
	if o.SigV4 != "" {
		opts = append(opts, rest.WithSigV4RegionSvc(o.Region, o.SigV4))
	}
	c, err := rest.NewCatalog(ctx, "", o.Catalog, opts...)
	if err != nil {
		return nil, remote("catalog", err)
	}
	// Credentials that the catalog supplies for a table take precedence over this AWS configuration. The configuration
	// is read only once, because reading it takes longer than a request.
	return &Lake{opts: o, catalog: c, specs: specs(), storage: func(ctx context.Context) context.Context {
		return utils.WithAwsConfig(ctx, &cloud)
	}}, nil
}

// Close ends the connections.
func (l *Lake) Close() error { return l.catalog.Close() }

// namespace returns the namespace of the tables. In Options.Namespace, dots separate the parts.
func (l *Lake) namespace() table.Identifier { return strings.Split(l.opts.Namespace, ".") }

// markerSpec returns the spec of lake_generation, which is the last one.
func (l *Lake) markerSpec() *tableSpec { return l.specs[len(l.specs)-1] }

// dataSpecs returns the specs of all tables except lake_generation.
func (l *Lake) dataSpecs() []*tableSpec { return l.specs[:len(l.specs)-1] }

func (l *Lake) identifier(name string) table.Identifier { return append(l.namespace(), name) }

// load loads a table and checks it against its spec. It returns nil if the table does not exist.
func (l *Lake) load(ctx context.Context, s *tableSpec) (*lakeTable, error) {
	tbl, err := l.catalog.LoadTable(ctx, l.identifier(s.name))
	if errors.Is(err, icebergcatalog.ErrNoSuchTable) || errors.Is(err, icebergcatalog.ErrNoSuchNamespace) {
		return nil, nil
	} else if err != nil {
		return nil, remote("table "+s.name, err)
	}
	t := &lakeTable{tableSpec: s, tbl: tbl}
	if t.missing, err = s.check(tbl); err != nil {
		return nil, err
	}
	fs, err := tbl.FS(ctx)
	if errors.Is(err, iceio.ErrIOSchemeNotFound) {
		return nil, fmt.Errorf("%w: table %s lies at %s, and only s3:// and file:// are built in",
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

// ensure loads a table, creates it if it does not exist, and adds the columns that it lacks.
func (l *Lake) ensure(ctx context.Context, s *tableSpec) (*lakeTable, error) {
	t, err := l.load(ctx, s)
	switch {
	case err != nil:
		return nil, err
	case t == nil:
		if err := l.ensureNamespace(ctx); err != nil {
			return nil, err
		}
		return l.create(ctx, s)
	case len(t.missing) > 0:
		return l.extend(ctx, t)
	}
	return t, nil
}

// ensureAll calls ensure for all tables except lake_generation, several at a time.
func (l *Lake) ensureAll(ctx context.Context) ([]*lakeTable, error) {
	tables := make([]*lakeTable, len(l.dataSpecs()))
	// Do not use a context of errgroup: the loaded tables keep the context, and Wait would cancel it.
	var g errgroup.Group
	g.SetLimit(uploads)
	for i, s := range l.dataSpecs() {
		g.Go(func() (err error) {
			tables[i], err = l.ensure(ctx, s)
			return err
		})
	}
	return tables, g.Wait()
}

// ensureNamespace creates the namespace if it does not exist.
func (l *Lake) ensureNamespace(ctx context.Context) error {
	exists, err := l.catalog.CheckNamespaceExists(ctx, l.namespace())
	if err == nil && !exists {
		err = l.catalog.CreateNamespace(ctx, l.namespace(), nil)
	}
	if errors.Is(err, icebergcatalog.ErrNamespaceAlreadyExists) {
		err = nil
	}
	return remote("namespace "+l.opts.Namespace, err)
}

// files returns the live data files of a table's current snapshot, and its delete files, which another program wrote.
func (t *lakeTable) files() (data, deletes []iceberg.DataFile, err error) {
	current := t.tbl.CurrentSnapshot()
	if current == nil {
		return nil, nil, nil
	}
	manifests, err := current.Manifests(t.fs)
	for _, m := range manifests {
		for e, err := range m.Entries(t.fs, true) {
			if err != nil {
				return nil, nil, remote(t.name, err)
			}
			if d := e.DataFile(); d.ContentType() == iceberg.EntryContentData {
				data = append(data, d)
			} else {
				deletes = append(deletes, d)
			}
		}
	}
	return data, deletes, remote(t.name, err)
}

// byOthers reports whether another program wrote the current snapshot of the table. Snapshots that only rewrite
// manifests do not count; Maintain makes such snapshots.
func (t *lakeTable) byOthers() bool {
	current := t.tbl.CurrentSnapshot()
	if current == nil || current.Summary == nil {
		return false
	}
	properties := current.Summary.Properties
	return properties[generationNote] == "" && properties["entries-processed"] == ""
}
