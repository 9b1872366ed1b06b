package schema

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares a text with a file under testdata/golden, or writes the file with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("..", "testdata", "golden", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not as in testdata/golden; run with -update and read the difference", name)
	}
}

// TestTables_Golden shows every change of the tables as a diff of golden files: columns, types, comments and field ids.
func TestTables_Golden(t *testing.T) {
	var ddl strings.Builder
	for _, table := range Tables {
		ddl.WriteString(strings.Join(table.CreateSQL(), ";\n") + ";\n\n")
	}
	golden(t, "tables.sql", ddl.String())
	golden(t, "tables.txt", DictionaryText(Dictionary(Documented())))
	b, err := json.MarshalIndent(Dictionary(Documented()), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "tables.json", string(b)+"\n")
}

// TestTables_KeepTheContract checks in every table the properties that readers rely on.
func TestTables_KeepTheContract(t *testing.T) {
	for _, table := range Tables {
		names := table.ColumnNames()
		if names[0] != "account_id" || table.Schema != "int" && names[len(names)-1] != "_run_id" {
			t.Errorf("%s begins with %s and ends with %s", table.FullName(), names[0], names[len(names)-1])
		}
		for _, c := range table.Columns {
			if c.Name == string(table.Partition) || c.Name == "account" {
				t.Errorf("%s: column %s is named as a directory key", table.FullName(), c.Name)
			}
			if !strings.HasSuffix(c.Doc, ".") {
				t.Errorf("%s.%s: doc %q is no sentence", table.FullName(), c.Name, c.Doc)
			}
		}
		if len(table.KeyNames()) == 0 {
			t.Errorf("%s has no key", table.FullName())
		}
	}
}

func TestDefine_RefusesWhatIsNoTable(t *testing.T) {
	type badKind struct {
		X float64 `col:"x" id:"1" doc:"d"`
	}
	type noDoc struct {
		X string `col:"x" id:"1"`
	}
	type badName struct {
		X string `col:"X y" id:"1" doc:"d"`
	}
	type noID struct {
		X string `col:"x" doc:"d"`
	}
	type twice struct {
		X string `col:"x" id:"1" doc:"d"`
		Y string `col:"y" id:"1" doc:"d"`
	}
	type badEncoding struct {
		X Money `col:"x" id:"1" doc:"d" encoding:"plain"`
	}
	type badCompression struct {
		X string `col:"x" id:"1" doc:"d" compress:"best"`
	}
	for name, define := range map[string]func(){
		"encoding":      func() { Define[badEncoding]("t", ByAccount, "") },
		"compress":      func() { Define[badCompression]("t", ByAccount, "") },
		"a float":       func() { Define[badKind]("t", ByAccount, "") },
		"no doc":        func() { Define[noDoc]("t", ByAccount, "") },
		"a bad name":    func() { Define[badName]("t", ByAccount, "") },
		"no field id":   func() { Define[noID]("t", ByAccount, "") },
		"one id, twice": func() { Define[twice]("t", ByAccount, "") },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("Define did not panic")
				}
			}()
			define()
		})
	}
}

func TestQuote(t *testing.T) {
	if got, want := QuoteText(`it's`), `'it''s'`; got != want {
		t.Errorf("QuoteText = %s, want %s", got, want)
	}
	if got, want := QuoteText("it's\x00"), `('it''s' || chr(0) || '')`; got != want {
		t.Errorf("QuoteText = %s, want %s", got, want)
	}
	if got, want := Quote(`a"b`), `"a""b"`; got != want {
		t.Errorf("Quote = %s, want %s", got, want)
	}
}
