package main

import (
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"spendsync/cmd/internal/exit"
)

func newManCommand(a *app) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "man [COMMAND]", Short: "Print the manual page of spendsync or of one of its commands",
		Long: "Prints a manual page in roff. With --dir the pages of all commands are written into a folder, for " +
			"an image or a package.",
		Example: "  spendsync man | man -l -\n  spendsync man sync | man -l -\n  spendsync man --dir " +
			"/usr/local/share/man/man1",
		Args: cobra.ArbitraryArgs,

		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (names []cobra.Completion,
			_ cobra.ShellCompDirective) {
			if page, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
				for _, c := range page.Commands() {
					names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			root.DisableAutoGenTag = true
			if dir != "" {
				if len(args) > 0 {
					return exit.Usagef("--dir writes the pages of all commands, not of %q", args[0])
				}
				if err := os.MkdirAll(dir, 0o755); err != nil {
					return exit.Usagef("--dir: %v", err)
				}
				return doc.GenManTree(root, manHeader(), dir)
			}
			page, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return exit.Usagef("there is no command %q; see 'spendsync help'", args)
			}
			return doc.GenMan(page, manHeader(), a.stdout)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "folder to write the pages of all commands into")
	return cmd
}

// manHeader is the same for every build of a commit.
func manHeader() *doc.GenManHeader {
	date := time.Unix(0, 0).UTC()
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, s := range b.Settings {
			if t, err := time.Parse(time.RFC3339, s.Value); s.Key == "vcs.time" && err == nil {
				date = t
			}
		}
	}
	return &doc.GenManHeader{Section: "1", Source: "spendsync " + version(), Manual: "spendsync", Date: &date}
}
