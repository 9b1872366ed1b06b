package cli

import "testing"

func TestWrapHelp_FitsTheWidth(t *testing.T) {
	for name, of := range map[string][2]string{
		"paragraph/broken elsewhere": {"one two\nthree four", "one two three\nfour"},
		"paragraph/two":              {"one two three four\n\nfive", "one two three\nfour\n\nfive"},
		"paragraph/before a list":    {"Flags:\n  -h  x", "Flags:\n  -h  x"},
		"entry/fits":                 {"  -h  one", "  -h  one"},
		"entry/continues":            {"  -h  one two three", "  -h  one two\n      three"},
		"entry/of a wide character":  {"  é  one two three", "  é  one two\n     three"},
		"explanation":                {"  NAME\n      one two three", "  NAME\n      one two\n      three"},
		"command":                    {"  run it with --all that it has", "  run it with --all that it has"},
		"word longer than a line":    {"https://example.com/x y", "https://example.com/x\ny"},
		"empty":                      {"", ""},
		"ends with a line":           {"one\n", "one\n"},
	} {
		if got := wrapHelp(of[0], 14); got != of[1] {
			t.Errorf("%s: got\n%q, want\n%q", name, got, of[1])
		}
	}
}
