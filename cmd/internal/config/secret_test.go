package config

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract"
)

const (
	canaryKey      = "adv_cAn4ryKey0123456789"
	canaryPassword = `cAn4ryPass"wörd/&<+ %`
)

// TestSecret_NeverPrints: no way of printing a value in Go shows a secret.
func TestSecret_NeverPrints(t *testing.T) {
	c := Config{APIKey: canaryKey, ReportPass: canaryPassword}
	k := Credentials{APIKey: canaryKey, User: "ann", ReportPassword: canaryPassword}
	var out bytes.Buffer
	for _, v := range []any{c, &c, k, &k, c.APIKey, []Secret{c.APIKey}, struct{ S Secret }{c.APIKey}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		_ = json.NewEncoder(&out).Encode(v)
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "v", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "v", v)
	}
	hex := fmt.Sprintf("%x", "cAn4ry")
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "cAn4ry") || strings.Contains(line, hex) {
			t.Errorf("a secret shows: %s", line)
		}
	}
}

// TestSecret_Files: a secret is the content of a file without the newline at its end. The file can be read again later.
// If the file is missing, empty or has two lines, the error names the file and does not show its content.
func TestSecret_Files(t *testing.T) {
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		content, want, says string
	}{
		"newline":   {canaryKey + "\n", canaryKey, ""},
		"crlf":      {canaryKey + "\r\n", canaryKey, ""},
		"bare":      {canaryKey, canaryKey, ""},
		"blank":     {" " + canaryKey + "\n", " " + canaryKey, ""},
		"empty":     {"\n", "", "is empty"},
		"two lines": {canaryKey + "\n" + canaryKey + "\n", "", "line break"},
		"nul":       {canaryKey + "\x00", "", "NUL"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(tc.content), 0o400); err != nil {
			t.Fatal(err)
		}
		got, err := ReadSecret("API_KEY", "", path)
		if string(got) != tc.want || (err == nil) != (tc.says == "") || err != nil &&
			(!strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "cAn4ry")) {
			t.Errorf("%s: %q, %v", name, string(got), err)
		}
	}
	if _, err := ReadSecret("API_KEY", "", filepath.Join(dir, "none")); err == nil || exit.Of(err) != exit.Usage ||
		!strings.Contains(err.Error(), "SPENDSYNC_API_KEY_FILE") {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := ReadSecret("API_KEY", canaryKey, filepath.Join(dir, "bare")); err == nil ||
		strings.Contains(err.Error(), "cAn4ry") {
		t.Errorf("both: %v", err)
	}
}

// echo answers each request with a text.
type echo string

func (e echo) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, ContentLength: int64(len(e)), Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(string(e)))}, nil
}

// TestClients_HandOnNoSecret: the client removes the secrets of both interfaces from the replies of each interface.
func TestClients_HandOnNoSecret(t *testing.T) {
	c, err := Read(t.Context(), []string{Prefix + "ADVERTISER_URL=https://a.test", Prefix + "REPORT_URL=https://r.test",
		Prefix + "API_KEY=" + canaryKey, Prefix + "REPORT_USER=ann", Prefix + "REPORT_PASSWORD=" + canaryPassword})
	if err != nil {
		t.Fatal(err)
	}
	basic := base64.StdEncoding.EncodeToString([]byte("ann:" + canaryPassword))
	said, _ := json.Marshal(canaryKey + " " + canaryPassword + " " + basic)
	api, err := c.AdvertiserClient(ClientOptions{Transport: echo(`{"id":"C1","name":` + string(said) + `}`)})
	if err != nil {
		t.Fatal(err)
	}
	campaign, err := api.Campaign(t.Context(), "C1")
	if err != nil {
		t.Fatal(err)
	}
	report, err := c.ReportClient(ClientOptions{Transport: echo(`{"columns":["date","campaign_id","creative_id",` +
		`"source_id","total_spend","clicks","impressions","conversions"],"data":[{"campaign_name":` + string(said) +
		`}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	raw := string(campaign.Raw)
	for page, err := range report.Spend(t.Context(), extract.SpendQuestion{}, &extract.Evidence{}) {
		if err != nil {
			t.Fatal(err)
		}
		raw += "\n" + string(page.Raw)
	}
	const hidden = `name":"[redacted] [redacted] [redacted]"`
	if strings.Contains(raw, "cAn4ry") || strings.Contains(raw, basic) || strings.Count(raw, hidden) != 2 {
		t.Errorf("the replies show a secret: %s", raw)
	}
}
