package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/config"
	"spendsync/extract/adsim"
	"spendsync/queries"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

var updateManuals = flag.Bool("update", false, "write deploy/config.txt again")

// manuals lists the manuals: for everybody, for contributors, for operators, for analysts, and for people who measure
// the cost.
var manuals = []string{"README.md", contributing, "cmd/spendsync/deploy/README.md", "queries/README.md",
	"cmd/bench/README.md"}

// contributing is the manual for people who change the program.
const contributing = ".github/CONTRIBUTING.md"

func manual(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestManuals_NameEverything checks that the manuals are complete: the README has every command, CONTRIBUTING every
// dependency, the analysts' manual every table and view, and config.txt every variable, metric and exit code.
func TestManuals_NameEverything(t *testing.T) {
	want := map[string][]string{"README.md": {"go run ./cmd/spendsync demo", "go test ./..."}}
	for _, c := range (&app{}).commands().Commands() {
		if !c.Hidden {
			want["README.md"] = append(want["README.md"], "`"+c.Name())
		}
	}
	for line := range strings.Lines(manual(t, "go.mod")) {
		if f := strings.Fields(line); len(f) == 2 && strings.Contains(f[0], ".") && strings.HasPrefix(f[1], "v") {
			want[contributing] = append(want[contributing], strings.TrimPrefix(f[0], "github.com/")+"`")
		}
	}
	for _, table := range schema.Tables {
		want["queries/README.md"] = append(want["queries/README.md"], "`"+table.FullName()+"`")
	}
	views := queries.Views(nil)
	for _, v := range views {
		if v.Schema == "int" { // working tables are not documented for readers
			continue
		}
		want["queries/README.md"] = append(want["queries/README.md"], v.Name)
	}
	modules := manual(t, "go.mod") + manual(t, "cmd/spendsync-lake/go.mod")
	_, table, _ := strings.Cut(manual(t, contributing), "## Dependencies")
	for _, m := range moduleName.FindAllStringSubmatch(table, -1) {
		if !strings.Contains(modules, m[1]+" v") {
			t.Errorf("%s names %s, which no go.mod requires", contributing, m[1])
		}
	}
	for name, words := range want {
		text := manual(t, name)
		for _, w := range words {
			if !strings.Contains(text, w) {
				t.Errorf("%s does not name %s", name, w)
			}
		}
	}
}

// TestManuals_ConfigIsGenerated compares deploy/config.txt with the output of the binary.
func TestManuals_ConfigIsGenerated(t *testing.T) {
	var out bytes.Buffer
	if code := run(t.Context(), []string{"config"}, nil, &out, &out); code != 0 {
		t.Fatalf("exit %d: %s", code, out.String())
	}
	const path = "deploy/config.txt"
	if *updateManuals {
		if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, out.Bytes()) {
		t.Errorf("%s is not what 'spendsync config' prints (%v): run this test with -update", path, err)
	}
}

var (
	markdownLink = regexp.MustCompile(`\[([^\]]*)\]\(([^)]+)\)`)
	inlineCall   = regexp.MustCompile("`(spendsync [^`]+)`")
)

// TestManuals_LinksAndInlineCommands checks that everything a manual links to exists: the file, and, if the text of the
// link names a function or type, that function or type in the Go file. The commands in sentences must exist, too.
func TestManuals_LinksAndInlineCommands(t *testing.T) {
	root := newApp(nil, nil, nil).commands()
	for _, name := range manuals {
		text := fenced.ReplaceAllString(manual(t, name), "")
		for _, m := range markdownLink.FindAllStringSubmatch(text, -1) {
			b, err := os.ReadFile(filepath.Join("..", "..", filepath.Dir(name), m[2]))
			if err != nil {
				t.Errorf("%s: the link %s: %v", name, m[2], err)
			} else if strings.HasSuffix(m[2], ".go") && !strings.HasSuffix(m[2], m[1]) &&
				!regexp.MustCompile(`(?m)^(func|type) (\([^)]*\) )?`+m[1]+`\b`).Match(b) {
				t.Errorf("%s: %s is not in %s", name, m[1], m[2])
			}
		}
		for _, m := range inlineCall.FindAllStringSubmatch(text, -1) {
			checkExample(t, root, name, m[1])
		}
	}
}

// notRunHere lists, by their first words, the commands of the manuals that the test below does not run. If .ci/run or
// .ci/readers runs such a command, the script must contain it in the same words.
var notRunHere = []struct {
	begins, because string
	ci              bool
}{
	{"go test ./...", "it is what runs this test", true},
	{"go install ", "the test binary stands for it here", true},
	{"go run ./cmd/adsim", "it serves until it is stopped; .ci/run builds it and checks the service", false},
	{"go run ./cmd/bench", "it measures for minutes; .ci/run measures the same with few rows, and tests of cmd/bench " +
		"parse these flags", false},
	{"kubectl ", "it needs a cluster; TestDeploy_ holds the manifests to what the cluster's own types accept", false},
	{"docker build ", "it needs a container engine; .ci/image builds and runs the image", false},
	{"python3 -m venv ", "it installs other people's pipelines, for minutes", false},
	{"queries/superset/start", "it installs Superset and serves until it is stopped", true},
	{"duckdb ", "it needs a reader that Go does not install: .ci/run puts one into the PATH", false},
	{"python3 ", "as duckdb", false},
}

// haveReaders reports whether the PATH has the readers, as in .ci/run: python3 with the modules, and duckdb beside it.
func haveReaders() bool {
	_, err := exec.LookPath("duckdb")
	return err == nil
}

// moduleName matches a module in the table of dependencies. The prefix github.com is left out there.
var moduleName = regexp.MustCompile("`([a-zA-Z0-9-]+(?:\\.[a-z]+)*/[a-zA-Z0-9./-]+)`[,; ]")

// fenced matches a block of code, with its kind and its lines.
var fenced = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// TestManuals_CommandsRun runs every command and every SQL statement of the manuals, as a person would paste them. They
// use the simulated service and an existing demo.
func TestManuals_CommandsRun(t *testing.T) {
	schematest.Long(t)
	w := newWorld(t).withMarts()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	ci := manual(t, ".ci/run") + manual(t, ".ci/readers")
	used := map[string]bool{}
	cwd := t.TempDir()
	if err := os.CopyFS(filepath.Join(cwd, demoDir), os.DirFS(demoStore(t))); err != nil {
		t.Fatal(err)
	}
	w.service.SetNow(time.Now()) // the demo ends today
	session, _ := openStore(t, demoStore(t))
	for _, name := range manuals {
		var script strings.Builder
		script.WriteString("set -uo pipefail\n")
		for _, block := range fenced.FindAllStringSubmatch(manual(t, name), -1) {
			switch block[1] {
			case "sh":
				for _, command := range commandsOf(block[2]) {
					if runs, begins := runnable(command); begins == "" {
						addCommand(&script, command, runs)
					} else {
						used[begins] = true
						if runs != "" {
							addCommand(&script, command, runs)
						}
					}
				}
			case "sql":
				for statement := range strings.SplitSeq(strings.TrimSpace(block[2]), ";\n") {
					if _, err := session.Query(t.Context(), strings.TrimSuffix(statement, ";")); err != nil {
						t.Errorf("%s: %v\n%s", name, err, statement)
					}
				}
			case "json":
				if !json.Valid([]byte(block[2])) {
					t.Errorf("%s: no JSON: %s", name, block[2])
				}
			case "text":
			default:
				t.Errorf("%s: a block of the kind %q; it is sh, sql, json or text", name, block[1])
			}
		}
		w.runManual(bash, cwd, name, script.String())
	}
	for _, n := range notRunHere {
		if !used[n.begins] && !strings.HasPrefix(n.because, "as ") && !haveReaders() {
			t.Errorf("no manual has a command that begins with %q", n.begins)
		}
		if n.ci && !strings.Contains(ci, n.begins) {
			t.Errorf("neither .ci/run nor .ci/readers runs %q", n.begins)
		}
	}
}

// commandsOf returns the commands of a block. A command is one line, or several lines that end with a backslash.
func commandsOf(block string) (commands []string) {
	for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", "")) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			commands = append(commands, line)
		}
	}
	return commands
}

// runnable returns the part of a command that can run here, and the beginning of the part that cannot.
func runnable(command string) (runs, begins string) {
	if from, to, ok := strings.Cut(command, " | "); ok {
		if _, begins := runnable(to); begins != "" {
			return from, begins
		}
		if _, err := exec.LookPath(strings.Fields(to)[0]); err != nil {
			return from, ""
		}
	}
	for _, n := range notRunHere {
		reader := n.begins == "duckdb " || n.begins == "python3 "
		if strings.HasPrefix(command, n.begins) && !(reader && haveReaders()) {
			return "", n.begins
		}
	}
	return command, ""
}

// addCommand adds a command to a script. If the command fails, the script prints it and ends.
func addCommand(script *strings.Builder, command, runs string) {
	script.WriteString("if ! {\n" + runs + "\n}; then cat >&2 <<'COMMAND'\nfailed: " + command +
		"\nCOMMAND\nexit 1; fi\n")
}

// runManual runs the commands of a manual in one shell, with the test binary as spendsync and the simulated service
// instead of the real service.
func (w *world) runManual(bash, cwd, name, script string) {
	w.t.Helper()
	bin, secrets := w.t.TempDir(), w.t.TempDir()
	for path, text := range map[string]string{
		bin + "/spendsync": "#!/bin/sh\nTEST_PROCESS=spendsync TEST_NOW=" + w.service.Now().Format(time.RFC3339) +
			" exec '" + os.Args[0] + "' \"$@\"\n",
		secrets + "/api-key":         adsim.DefaultKey + "\n",
		secrets + "/report-password": adsim.DefaultPassword + "\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			w.t.Fatal(err)
		}
	}
	script = strings.NewReplacer(
		"go run ./cmd/spendsync demo", "spendsync demo --rows-per-day 300",
		"https://ads.example.com/api", w.server.URL+adsim.APIPrefix, "https://reports.example.com", w.server.URL+
			adsim.ReportPrefix,
		"you@example.com", adsim.DefaultUser, "/run/secrets", secrets, "DATA_DIR=/data", "DATA_DIR="+
			w.t.TempDir()+"/data",
	).Replace(script)
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Minute) // a busy machine is slow
	defer cancel()
	cmd := exec.CommandContext(ctx, bash, "-c", script)
	cmd.Dir, cmd.WaitDelay = cwd, time.Second
	cmd.Env = append(withoutOurs(os.Environ()), config.Prefix+"RETRY_BUDGET=5s",
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Errorf("%s: %v\n%s", name, err, out)
	}
	if testing.Verbose() {
		w.t.Logf("%s\n%s", name, out)
	}
}
