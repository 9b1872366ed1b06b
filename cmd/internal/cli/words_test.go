package cli

import (
	"encoding/json"
	"testing"
)

func TestThousands(t *testing.T) {
	for number, want := range map[string]string{"0": "0", "999": "999", "1000": "1,000", "-1000": "-1,000",
		"1234567.8901": "1,234,567.8901", "123456": "123,456", "1.2e-05": "1.2e-05",
		"nan": "nan", "": "", "-.5": "-.5"} {
		if got := Thousands(number); got != want {
			t.Errorf("Thousands(%q) = %q, want %q", number, got, want)
		}
	}
}

// TestVisible_IsJSON: an escaped character within a JSON string is the character itself.
func TestVisible_IsJSON(t *testing.T) {
	for _, r := range []rune{0x7f, 0x85, 0x202e, 0xfeff, 0xe0001} {
		shown, got := Visible(string(r)), ""
		if err := json.Unmarshal([]byte(`"`+shown+`"`), &got); err != nil || got != string(r) || shown == got {
			t.Errorf("%U is shown as %s, which is %q: %v", r, shown, got, err)
		}
	}
}
