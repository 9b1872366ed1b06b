package extract

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"spendsync/extract/service"
)

// TestValue_Blank: a text is blank if it has nothing but blanks, however they are written. Everything else that is
// there is not, for a blank value is taken for one that is not set.
func TestValue_Blank(t *testing.T) {
	for text, want := range map[string]bool{
		``: true, `null`: true, `""`: true, `" "`: true, `"\t \n"`: true, `"\u0020"`: true, `"\u00a0"`: true,
		"\"\u00a0\"": true, "\"\u3000 \"": true, `"a"`: false, `" a"`: false, `"a "`: false, `"\u0061"`: false,
		`"\\"`: false, "\"é\"": false, "\"\u0080\"": false, `"!"`: false, `"\"\""`: false, `0`: false, `[]`: false,
		`{}`: false, `false`: false, "\"\x7f\"": false,
	} {
		if got := Value(text).blank(); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
}

// TestValue_Text: two spellings of one text are equal, and a half of a character is U+FFFD.
func TestValue_Text(t *testing.T) {
	for text, want := range map[string]string{`"a"`: "a", `"\u0061"`: "a", `"\\a"`: `\a`, `"a\"b"`: `a"b`, `""`: "",
		`"\ud83d"`: "\uFFFD", `"x\ud83dy"`: "x\uFFFDy"} {
		if got, ok := Value(text).Text(); got != want || !ok {
			t.Errorf("%s: %q, %t", text, got, ok)
		}
	}
	for _, text := range []string{``, `null`, `1`, `[]`} {
		if got, ok := Value(text).Text(); got != "" || ok {
			t.Errorf("%s is the text %q", text, got)
		}
	}
}

// TestValue_ID: a whole number is the text of its digits, and nothing else is changed.
func TestValue_ID(t *testing.T) {
	for value, want := range map[string]string{`4711`: `"4711"`, `0`: `"0"`, `"4711"`: `"4711"`, `-1`: `-1`,
		`1.0`: `1.0`, `1e3`: `1e3`, ``: ``, `null`: `null`} {
		if got := Value(value).ID(); string(got) != want {
			t.Errorf("%s: %s", value, got)
		}
	}
}

// TestNumber_AsAText: a number may come as a text that is one and nothing else.
func TestNumber_AsAText(t *testing.T) {
	longest := strings.Repeat("9", maxQuotedNumber-2)
	for value, want := range map[string]string{`12.34`: "12.34", `-1`: "-1", `0`: "0", `9`: "9", `"12.34"`: "12.34",
		`"-1"`: "-1", `"0"`: "0", `"9"`: "9", `"1e3"`: "1e3", `"` + longest + `"`: longest} {
		if got, ok := Value(value).Number(); string(got) != want || !ok {
			t.Errorf("%s: %s, %t", value, got, ok)
		}
	}
	for _, value := range []string{``, `null`, `""`, `"a"`, `"1 "`, `" 1"`, `"1,5"`, `"--1"`, `"$1"`, `[1]`, `true`,
		`"` + longest + `9"`, `"/"`, `":"`} {
		if got, ok := Value(value).Number(); ok {
			t.Errorf("%s is the number %s", value, got)
		}
	}
}

// TestSnakeCase_EndsWords: words end before a capital that begins one, so a run of capitals is one word.
func TestSnakeCase_EndsWords(t *testing.T) {
	for key, want := range map[string]string{
		"default_bid": "default_bid", "defaultBid": "default_bid", "DefaultBid": "default_bid",
		"default-bid": "default_bid", "targetCPA": "target_cpa", "CPATarget": "cpa_target", "CPA": "cpa",
		"cpa2Target": "cpa2_target", "id9A": "id9_a", "id0Z": "id0_z", "aZ": "a_z", "zA": "z_a", "AZ": "az",
		"ZAz": "z_az", "AZa": "a_za", "A": "a", "Z": "z", "-": "_", "a-B": "a_b", "a_B": "a_b", "éA": "éa",
		"A_B": "a_b", "": "", "A9": "a9", "a.b": "a.b", "[a]": "[a]", "@A": "@a", "Ab": "ab", "AbZ": "ab_z",
	} {
		if got := service.SnakeCase(key); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}

// TestKeys names twenty keys and counts the others.
func TestKeys(t *testing.T) {
	fields := map[string]Value{}
	if got := Keys(fields); got != "none" {
		t.Errorf("no key: %s", got)
	}
	for i := range maxKeysShown + 2 {
		fields[fmt.Sprintf("k%02d", i)] = nil
		names := slices.Sorted(maps.Keys(fields))
		want := strings.Join(names[:min(len(names), maxKeysShown)], ", ")
		if more := len(names) - maxKeysShown; more > 0 {
			want += fmt.Sprintf(" and %d more", more)
		}
		if got := Keys(fields); strings.ReplaceAll(got, `"`, "") != want {
			t.Errorf("%d keys: %s, want %s", len(names), got, want)
		}
	}
}

// TestDocument_ReplacesWhatIsNotUTF8: a byte that no text has is U+FFFD in what is read, and everything else stays.
func TestDocument_ReplacesWhatIsNotUTF8(t *testing.T) {
	for body, want := range map[string]string{"{\"a\": \"b\xffc\"}": "{\"a\":\"b\uFFFDc\"}",
		"[ \"\xe4\" ]": "[\"\uFFFD\"]", `["é"]`: `["é"]`} {
		if got, err := document([]byte(body)); string(got) != want || err != nil {
			t.Errorf("%q: %s, %v", body, got, err)
		}
	}
}

// TestValue_IsNumber: only a JSON number is one, and no text of digits.
func TestValue_IsNumber(t *testing.T) {
	for value, want := range map[string]bool{
		"": false, "0": true, "9": true, "10": true, "-1": true, "0.5": true,
		`"0"`: false, `"-1"`: false, "null": false, "true": false, "[0]": false, "{}": false,
	} {
		check(t, "number "+value, Value(value).isNumber(), want)
	}
}
