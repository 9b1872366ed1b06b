package main

import (
	"context"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/dictionary"
	"spendsync/schema"
)

// tablesCommand is "tables".
type tablesCommand struct {
	*terminal
	all bool
}

func newTablesCommand(t *terminal) *cobra.Command {
	c := &tablesCommand{terminal: t}
	cmd := &cobra.Command{
		Use: "tables [NAME]", Short: "List the tables; describe one with its columns",
		Long: `Lists tables, views and macros by subject. With names it describes those with their columns;
--all and --json describe every table.
No store is needed: the views are those that this version publishes.`,
		Example: `  spendsync tables
  spendsync tables spend_daily
  spendsync tables mart.campaign_performance
  spendsync tables --all | grep -i restated`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeNames(dictionary.Names),
		RunE: func(cmd *cobra.Command, args []string) error {
			answer, text, err := c.tables(cmd.Context(), args)
			if err != nil {
				return err
			}
			return c.answer(answer, text)
		},
	}
	cmd.Flags().BoolVar(&c.all, "all", false, "without a name: describe every table with its columns")
	return cmd
}

// tables returns the answer in two forms: a value for --json, and a text for people.
func (c *tablesCommand) tables(ctx context.Context, args []string) (answer any, text string, err error) {
	width := cli.TextWidth(c.stdout)
	if len(args) == 0 {
		docs := schema.Dictionary(schema.Documented())
		if !c.all {
			return docs, dictionary.List(width), nil
		}
		return docs, cli.WrapText(schema.DictionaryText(append(docs, dictionary.ViewDocs()...)), width), nil
	}
	if c.all {
		return nil, "", exit.Usagef("--all is about every table: give it, or a name, not both")
	}
	docs, err := dictionary.Describe(ctx, args)
	return docs, cli.WrapText(schema.DictionaryText(docs), width), err
}
