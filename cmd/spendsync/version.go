package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/cli"
	"spendsync/load/duck"
	"spendsync/schema"
)

func version() string { return cli.Version(buildVersion) }

// buildVersion is set with -ldflags "-X main.buildVersion=...".
var buildVersion string

func newVersionCommand(t *terminal) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Example: "  spendsync version --json",
		Long: "Prints the version. The modules that the binary is made of are in it: 'go version -m FILE' lists them.",
		RunE: func(*cobra.Command, []string) error {
			return t.answer(map[string]any{"version": version(), "schema_version": schema.Version,
				"duckdb": duck.EngineVersion()}, fmt.Sprintf("spendsync %s (schema %d, DuckDB %s)\n", version(),
				schema.Version, duck.EngineVersion()))
		},
	}
}
