package answer

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/load/duck"
)

// writeMarkdown writes a table of GitHub's Markdown.
func (n Rendering) writeMarkdown(ctx context.Context, w *bufio.Writer) error {
	head, forms := n.heads()
	var rule []string
	for i, f := range forms {
		head[i] = markdownCell(head[i])
		if rule = append(rule, "---"); f == formNumber || f == formFloat {
			rule[i] = "---:"
		}
	}
	fmt.Fprintf(w, "| %s |\n| %s |\n", strings.Join(head, " | "), strings.Join(rule, " | "))
	for row, err := range n.Result.Rows(ctx) {
		if err != nil {
			return err
		}
		cells := make([]string, len(row))
		for i, v := range row {
			if v.Valid {
				cells[i] = markdownCell(v.V)
			}
		}
		if _, err := fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")); err != nil {
			return err
		}
	}
	for _, line := range duck.FactLines(n.Result.Facts) {
		fmt.Fprintf(w, "\n> %s\n", markdownCell(line))
	}
	return nil
}

// markdownSigns would format, link, or end a cell.
var markdownSigns = strings.NewReplacer(
	"\\", "\\\\", "|", "\\|", "`", "\\`", "*", "\\*", "[", "\\[", "]", "\\]", "<", "&lt;", ">", "&gt;", "&", "&amp;",
	"\r\n", "<br>", "\n", "<br>", "\r", "<br>")

func markdownCell(text string) string { return phrase.Visible(markdownSigns.Replace(text)) }
