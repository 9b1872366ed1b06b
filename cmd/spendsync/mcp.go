package main

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"spendsync/cmd/spendsync/assistant"
	"spendsync/cmd/spendsync/dictionary"
	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/manifest"
)

// mcpCommand is "mcp".
type mcpCommand struct {
	*call
	from string
}

func newMCPCommand(a *call) *cobra.Command {
	c := &mcpCommand{call: a}
	cmd := &cobra.Command{
		Use: "mcp", Short: "Serve the warehouse to an AI assistant (Model Context Protocol on stdin and stdout)",
		Long: `Serves the published warehouse to an AI assistant over the Model Context Protocol on stdin, stdout, until
stdin ends. It only reads. The assistant gets the guide and five tools: questions, ask, describe, sql, coverage. An
answer has at most 1,000 rows and 64 KiB, takes at most a minute and 2 GiB of memory, and states its generation; SQL
reaches the warehouse and nothing else; with --account, that account's rows only. With --from it serves the newest
generation of a bucket, on any laptop that may read it.`,
		Example: "  spendsync mcp\n  spendsync mcp --data-dir /srv/spend\n" +
			"  spendsync mcp --from s3://acme-spend/store",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context(), cmd.InOrStdin()) },
	}
	addFrom(cmd, &c.from)
	return cmd
}

func (c *mcpCommand) run(ctx context.Context, stdin io.Reader) error {
	if err := c.setUp(ctx); err != nil {
		return err
	}
	store := &servedStore{call: c.call, from: c.bucketOf(c.from)}
	w := assistant.Warehouse{Store: store.open, Account: c.account, Options: c.questionOptions(),
		Now: c.now, Within: c.within, Describe: dictionary.DescribeAll}
	if err := store.try(ctx, w.Options); err != nil {
		return err // end the command before the assistant sees any tool
	}
	return assistant.NewServer(w, version()).Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(stdin),
		Writer: nopWriteCloser{c.stdout}})
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }

// servedStore is the store of a command that answers many questions. New generations may be published meanwhile.
type servedStore struct {
	*call
	from string

	mu       sync.Mutex
	pulledAt time.Time
}

// pullEvery is the interval at which the command looks for a new generation in the bucket.
const pullEvery = time.Minute

// open returns the folder of the store and its manifest. An answer that starts during a publication may come from the
// next generation.
func (s *servedStore) open(ctx context.Context) (dir string, m *manifest.Manifest, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.now(); s.from != "" && now.Sub(s.pulledAt) >= pullEvery {
		if err := s.pullFrom(ctx, s.from); err != nil {
			return "", nil, err
		}
		s.pulledAt = now
	}
	dir = s.cfg.DataDir
	if m, err = manifest.ReadRoot(durable.OS, dir, nil); err != nil {
		return "", nil, warehouseErr(err, dir)
	}
	return dir, m, nil
}

// try opens the store and runs a trivial query. If this query fails, every answer would fail, too.
func (s *servedStore) try(ctx context.Context, o duck.Options) error {
	dir, _, err := s.open(ctx)
	if err != nil {
		return err
	}
	result, err := duck.Ask(ctx, dir, duck.Query{SQL: "SELECT 1", Account: s.account}, o)
	if err != nil {
		return warehouseErr(err, dir)
	}
	return result.Close()
}
