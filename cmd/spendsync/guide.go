package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/cli"
	"spendsync/queries"
)

// guideName is the file name of the guide in the data directory, where people and assistants find it.
const guideName = "GUIDE.md"

// newGuideTopic returns the help topic "help guide": one page for analysts and AI assistants. 'spendsync mcp' sends the
// same page as its instructions.
func newGuideTopic(t *terminal) *cobra.Command {
	show := func() error {
		_, err := io.WriteString(t.stdout, queries.Guide)
		return cli.QuietPipe(err)
	}
	cmd := &cobra.Command{
		Use: "guide", Short: "How to ask the warehouse: which view for which question, and the traps",
		Long:    "One page: which view answers which question, seven traps, the units.",
		Example: "  spendsync help guide\n  spendsync help guide > AGENTS.md",
		RunE:    func(*cobra.Command, []string) error { return show() },
	}
	cmd.SetHelpFunc(func(*cobra.Command, []string) { _ = show() })
	return cmd
}

// placeGuide writes or updates the guide in the data directory. A file with another title is the user's own, and is not
// replaced. An error is only logged, because no number depends on the guide.
func (c *call) placeGuide(dir string) {
	path := filepath.Join(dir, guideName)
	old, err := cli.ReadFile(path, 1<<20)
	title, _, _ := strings.Cut(queries.Guide, "\n")
	switch {
	case err == nil && (string(old) == queries.Guide || !bytes.HasPrefix(old, []byte(title+"\n"))):
		return
	case err == nil, errors.Is(err, fs.ErrNotExist):
		err = cli.WriteFile(path, func(w io.Writer) error {
			_, err := io.WriteString(w, queries.Guide)
			return err
		})
	}
	if err != nil {
		c.log.Warn("the guide could not be written beside the store", "file", path, "error", err)
	}
}
