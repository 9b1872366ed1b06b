package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"spendsync/cmd/spendsync/exit"
	"spendsync/cmd/spendsync/output"
	"spendsync/schema"
)

func (a *app) tablesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "tables [TABLE]", Short: "Print the data dictionary: every table and column, with its meaning",
		Example: "  spendsync tables\n  spendsync tables spend_daily",
		Args:    cobra.ArbitraryArgs,

		ValidArgsFunction: cobra.FixedCompletions(tableNames(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			tables := schema.Documented()
			if len(args) > 0 {
				var err error
				if tables, err = findTables(args); err != nil {
					return err
				}
			}
			if a.json {
				return output.JSON(a.stdout, schema.Dictionary(tables))
			}
			_, err := fmt.Fprint(a.stdout, schema.DictionaryText(tables))
			return err
		},
	}
}

// tableNames are what a shell offers after "tables".
func tableNames() (names []string) {
	for _, t := range schema.Documented() {
		names = append(names, t.FullName())
	}
	return names
}

func findTables(names []string) ([]*schema.Table, error) {
	var found []*schema.Table
	for _, name := range names {
		ok := false
		for _, t := range schema.Documented() {
			if t.Name == name || t.FullName() == name {
				found, ok = append(found, t), true
			}
		}
		if !ok {
			return nil, exit.Usagef("there is no table %q; 'spendsync tables' lists them", name)
		}
	}
	return found, nil
}
