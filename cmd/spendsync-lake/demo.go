package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync-lake/lake"
	"spendsync/cmd/spendsync-lake/lake/restsim"
	"spendsync/load/durable"
	"spendsync/load/manifest"
)

func (a *app) demoCommand() *cobra.Command {
	var dir, listen string
	var once bool
	cmd := &cobra.Command{
		Use: "demo", Short: "Run the whole chain on this machine: simulated service, store, lake", Args: cobra.NoArgs,
		Long: "Runs 'spendsync demo' into a folder that has no store yet, which needs spendsync beside this binary " +
			"or in the PATH, then serves an Iceberg REST catalog in this process, whose tables lie in the same " +
			"folder, and brings the store into it. The catalog stays until it is stopped, so that DuckDB, Spark and " +
			"pyiceberg can read it. No credentials are used.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := filepath.Abs(dir)
			if err != nil {
				return exit.Usagef("--dir: %v", err)
			}
			store := filepath.Join(dir, "store")
			if _, err := manifest.Read(store); errors.Is(err, durable.ErrEmpty) {
				err = a.demoStore(cmd.Context(), store)
				if err != nil {
					return err
				}
			} else if err != nil {
				return err
			}
			return a.demoLake(cmd.Context(), store, filepath.Join(dir, "lake"), listen, once)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "demo-data", "folder for the store and the lake")
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address of the catalog")
	cmd.Flags().BoolVar(&once, "once", false, "end when the lake is there, without serving it")
	return cmd
}

// demoStore runs 'spendsync demo' to make the store.
func (a *app) demoStore(ctx context.Context, dir string) error {
	binary, err := exec.LookPath("spendsync")
	if self, selfErr := os.Executable(); selfErr == nil {
		if beside, besideErr := exec.LookPath(filepath.Join(filepath.Dir(self), "spendsync")); besideErr == nil {
			binary, err = beside, nil
		}
	}
	if err != nil {
		return exit.Usagef("spendsync is neither beside spendsync-lake nor in the PATH: go install ./cmd/spendsync")
	}
	cmd := exec.CommandContext(ctx, binary, "demo", "--data-dir", dir)
	cmd.Stdout, cmd.Stderr = a.stdout, a.stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s demo: %w", binary, err)
	}
	return nil
}

// demoLake serves a catalog and copies the store into it.
func (a *app) demoLake(ctx context.Context, store, folder, listen string, once bool) error {
	// The catalog is in memory only, so the files of an earlier demo belong to no table.
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	catalog := &restsim.Catalog{Warehouse: "file://" + folder, Write: func(location string, b []byte) error {
		path := strings.TrimPrefix(location, "file://")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		return os.WriteFile(path, b, 0o600)
	}}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return exit.Usagef("--listen: %v", err)
	}
	srv := &http.Server{Handler: catalog, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	defer srv.Close()
	url := "http://" + l.Addr().String()
	client, err := lake.Open(ctx, lake.Options{Catalog: url, Namespace: "spendsync", Version: version(),
		AllowHTTP: true,
		Now:       a.now})
	if err != nil {
		return err
	}
	defer client.Close()
	done, err := client.Follow(ctx, lake.FollowOptions{Dir: store})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "\nThe lake has generation %d: %d files, %d rows, in %d tables, in one transaction.\n",
		done.Generation, done.Added, done.Rows, len(done.Tables))
	if once {
		return nil
	}
	fmt.Fprintf(a.stdout, demoReaders, url, store)
	select {
	case <-ctx.Done():
		return nil
	case err := <-ended:
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return err
	}
}

const demoReaders = `
The catalog is at %[1]s until you stop it (Ctrl-C). Read it:

  DuckDB       INSTALL iceberg; LOAD iceberg;
               ATTACH '' AS lake (TYPE iceberg, ENDPOINT '%[1]s', AUTHORIZATION_TYPE 'none');
               SELECT report_date, sum(spend) FROM lake.spendsync.spend_daily GROUP BY 1 ORDER BY 1;
               (INSTALL reads extensions.duckdb.org; without it, PyPI has duckdb-extension-iceberg, -avro and -httpfs)
  pyiceberg    from pyiceberg.catalog import load_catalog
               load_catalog("lake", type="rest", uri="%[1]s").load_table("spendsync.spend_daily").scan().to_arrow()
  Spark        spark-sql --packages org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0 \
                 --conf spark.sql.catalog.lake=org.apache.iceberg.spark.SparkCatalog \
                 --conf spark.sql.catalog.lake.type=rest --conf spark.sql.catalog.lake.uri=%[1]s \
                 -e "SELECT account_id, generation, days, rows FROM lake.spendsync.lake_generation"

After another sync of %[2]s, bring the lake to its generation:

  SPENDSYNC_DATA_DIR=%[2]s SPENDSYNC_LAKE_CATALOG=%[1]s spendsync-lake follow
`
