package check

import (
	"context"
	"path/filepath"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/job"
	"spendsync/cmd/spendsync/payouts"
)

// payouts reads the operator's own files as a run does. A problem in a file does not prevent a sync.
func (c *checker) payouts(ctx context.Context, t *job.Trial) {
	if c.Job.Own == nil {
		return
	}
	const name = "payouts"
	const do = "correct what is named: until then a sync keeps the numbers that it has, and ends with exit code 4"
	var campaigns map[string]bool
	if t != nil {
		campaigns = t.CampaignIDs()
	}
	own, err := c.Job.Own(ctx, campaigns, "")
	if err == nil {
		err = own.Close()
	}
	if err != nil {
		c.fail(exit.Usage, name, do, "%s", cli.OneLine(err.Error()))
		return
	}
	for _, f := range own.Findings {
		switch f.Note {
		case "":
			c.fail(exit.Usage, name, do, "%s", cli.OneLine(f.Message))
		case payouts.Remark:
			c.warn(name, "declare them in "+payouts.Variable+" if they count", "%s", f.Message)
		default:
			if c.known != nil && c.known.Accepts(f.Note, f.Size) {
				c.ok(name, "%s; that is accepted", f.Message)
				continue
			}
			c.fail(exit.Partial, name, "correct it, or 'spendsync repair accept "+f.Note+"' after a sync: until "+
				"then a sync ends with exit code 4", "%s", f.Message)
		}
	}
	for _, f := range own.Files {
		c.shows(f)
	}
}

// shows adds lines to the findings about one of the operator's files: its columns, and how its first rows are read.
func (c *checker) shows(f *payouts.File) {
	name := "payouts " + filepath.Base(f.Path)
	if f.Variable != "" {
		c.warn(name, f.Variable, "a known tracker's headings are in it, which this declares")
	}
	if f.Rows != "" {
		c.ok(name, "%s; %s", f.Columns, f.Rows)
	}
}
