package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spendsync/cmd/spendsync/exit"
	"spendsync/schema"
)

// TestREADME_NamesEverything holds the README to what the binary has: every
// variable, exit code, command, table and dependency.
func TestREADME_NamesEverything(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	readme := string(b)
	want := []string{"go run ./cmd/spendsync demo", "go test ./..."}
	for _, v := range variables() {
		want = append(want, "`"+v.name+"`")
	}
	for _, e := range exit.Codes {
		want = append(want, fmt.Sprintf("| %d | %s", e.Code, e.Means))
	}
	for _, c := range (&app{}).commands().Commands() {
		if c.Name() != "config" && c.Name() != "completion" {
			want = append(want, "`"+c.Name())
		}
	}
	for _, table := range schema.Tables {
		want = append(want, "`"+table.FullName()+"`")
	}
	mod, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mod)) {
		if f := strings.Fields(line); len(f) == 2 && strings.Contains(f[0], ".") && strings.HasPrefix(f[1], "v") {
			want = append(want, strings.TrimPrefix(f[0], "github.com/"))
		}
	}
	for _, w := range want {
		if !strings.Contains(readme, w) {
			t.Errorf("README.md does not name %s", w)
		}
	}
}
