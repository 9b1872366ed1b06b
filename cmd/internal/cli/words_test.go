package cli

import "testing"

func TestThousands(t *testing.T) {
	for number, want := range map[string]string{"0": "0", "999": "999", "1000": "1,000", "-1000": "-1,000",
		"1234567.8901": "1,234,567.8901", "123456": "123,456", "1.2e-05": "1.2e-05",
		"nan": "nan", "": "", "-.5": "-.5"} {
		if got := Thousands(number); got != want {
			t.Errorf("Thousands(%q) = %q, want %q", number, got, want)
		}
	}
}
