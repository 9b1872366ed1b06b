package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/bom"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/internal/output"
	"spendsync/schema"
)

func version() string { return bom.Version(buildVersion) }

// buildVersion is set with -ldflags "-X main.buildVersion=...".
var buildVersion string

func newVersionCommand(a *app) *cobra.Command {
	var sbom, licenses bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version",
		Example: "  spendsync version --json\n  spendsync version --sbom | jq -r '.components[].purl'\n  spendsync " +
			"version --licenses",
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case sbom && licenses:
				return exit.Usagef("--sbom or --licenses, not both")
			case sbom:
				return bom.Write(a.stdout, "spendsync", version())
			case licenses:
				return bom.WriteLicenses(a.stdout)
			case a.json:
				return output.JSON(a.stdout, map[string]any{"version": version(), "schema_version": schema.Version})
			}
			_, err := fmt.Fprintf(a.stdout, "spendsync %s (schema %d)\n", version(), schema.Version)
			return err
		},
	}
	cmd.Flags().BoolVar(&sbom, "sbom", false, "print what this binary is made of, as CycloneDX in JSON")
	cmd.Flags().BoolVar(&licenses, "licenses", false, "print the modules that this binary is made of, with "+
		"their licences")
	return cmd
}
