package config

import (
	"cmp"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
)

// TestRead_RefusesAFolderThatDuckDBReadsAsAPattern: DuckDB takes a ? for the beginning
// of options, and *, ? and [ for patterns of names.
func TestRead_RefusesAFolderThatDuckDBReadsAsAPattern(t *testing.T) {
	for dir, ok := range map[string]bool{
		"/srv/what?": false, "/srv/a*b": false, "/srv/[x]": false, "/srv/a b'c\"d;]é": true,
	} {
		_, err := Read(t.Context(), []string{"SPENDSYNC_DATA_DIR=" + dir})
		if (err == nil) != ok || err != nil && (exit.Of(err) != exit.Usage ||
			!strings.Contains(err.Error(), "DATA_DIR="+dir)) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	t.Chdir(t.TempDir())
	if err := os.Mkdir("what?", 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir("what?")
	if _, err := Read(t.Context(), nil); err == nil {
		t.Error("a relative folder below such a one is accepted")
	}
}

// TestRead_RefusesMetricsWhereSomethingElseIs: every run replaces the metrics file, so its path must not name another
// file.
func TestRead_RefusesMetricsWhereSomethingElseIs(t *testing.T) {
	base := t.TempDir()
	dir, link := filepath.Join(base, "data"), filepath.Join(base, "link")
	device := filepath.Join(base, "pipe")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(device, 0o600); err != nil {
		t.Skipf("no named pipes here: %v", err)
	}
	for path, ok := range map[string]bool{
		filepath.Join(dir, "manifest.json"): false, filepath.Join(dir, "later", "m.prom"): false,
		filepath.Join(link, "manifest.json"): false, device: false, dir: false, "/dev/null": false,
		filepath.Join(base, "m.prom"): true, filepath.Join(base, "not", "there", "m.prom"): true,
	} {
		_, err := Read(t.Context(), []string{"SPENDSYNC_DATA_DIR=" + dir, "SPENDSYNC_METRICS_FILE=" + path})
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "METRICS_FILE "+path) {
			t.Errorf("%s: %v", path, err)
		}
	}
	// A metrics file in the folder of the store is refused even if that folder does not exist yet.
	_, err := Read(t.Context(), []string{"SPENDSYNC_DATA_DIR=" + base + "/new", "SPENDSYNC_METRICS_FILE=" + base +
		"/new/manifest.json"})
	if err == nil {
		t.Error("a file of a store that is yet to be made is accepted")
	}
}

// TestSecret_FromAPipe: a named pipe without a writer does not block the command.
func TestSecret_FromAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "key")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("no named pipes here: %v", err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := ReadSecret("API_KEY", "", pipe)
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil || exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("from a pipe: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("a pipe is waited for")
	}
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, make([]byte, cli.MaxSecret+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSecret("API_KEY", "", large); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("from a large file: %v", err)
	}
}

// TestVariables_AreExplained: docs describes each variable, and describes no name that is not a variable.
func TestVariables_AreExplained(t *testing.T) {
	all := Variables()
	for _, v := range all {
		if docs[v.Name] == "" || v.Doc != docs[v.Name] {
			t.Errorf("%s is not explained", v.Name)
		}
	}
	if len(docs) != len(all) {
		t.Errorf("%d meanings of %d variables", len(docs), len(all))
	}
	if len(all) > 30 {
		t.Errorf("%d variables; a new one takes the place of another", len(all))
	}
}

// TestRead_ASecretIsAVariableOrAFile tests one rule for all secrets, including those that are added later: a secret
// comes from a variable or from a file.
func TestRead_ASecretIsAVariableOrAFile(t *testing.T) {
	values := map[string]string{"PUSHGATEWAY_URL": "https://u:p@push.test", "HEARTBEAT_URL": "https://hc.test/x",
		"NOTIFY_URL": "https://a.test\nhttps://b.test"}
	dir := t.TempDir()
	secrets := 0
	for _, v := range Variables() {
		if !v.IsSecret {
			continue
		}
		secrets++
		path := filepath.Join(dir, v.Name)
		value := cmp.Or(values[v.Name], "hunter2")
		if err := os.WriteFile(path, []byte(value+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Read(t.Context(), []string{Prefix + v.Name + "_FILE=" + path})
		if err != nil || len(c.Unknown()) > 0 {
			t.Fatalf("%s_FILE: %v, unknown %v", v.Name, err, c)
		}
		if got, err := readSecret(v.Name, "", c.files[v.Name+"_FILE"]); string(got) != value {
			t.Errorf("%s_FILE holds %d bytes: %v", v.Name, len(got), err)
		}
		if slices.ContainsFunc(c.missing, func(m Variable) bool { return m.Name == v.Name }) {
			t.Errorf("%s_FILE is set, and %[1]s counts as missing", v.Name)
		}
		for _, path := range []string{"/dev/zero", dir} {
			_, err := readSecret(v.Name, "", path)
			if exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), Prefix+v.Name+"_FILE") {
				t.Errorf("%s_FILE=%s: %v", v.Name, path, err)
			}
		}
	}
	if secrets != 5 {
		t.Errorf("%d secrets", secrets)
	}
	all := []string{Prefix + "PUSHGATEWAY_URL_FILE=" + filepath.Join(dir, "PUSHGATEWAY_URL"),
		Prefix + "HEARTBEAT_URL_FILE=" + filepath.Join(dir, "HEARTBEAT_URL"),
		Prefix + "NOTIFY_URL_FILE=" + filepath.Join(dir, "NOTIFY_URL")}
	c, err := Read(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	gateway, err1 := c.Gateway()
	beat, err2 := c.Heartbeat()
	to, err3 := c.Receivers()
	if err := errors.Join(err1, err2, err3); err != nil || gateway.Host != "push.test" || beat.Host != "hc.test" ||
		len(to) != 2 {
		t.Errorf("%v, %v, %d receivers, %v", gateway, beat, len(to), err)
	}
}

// TestRead_NamesQuotes: docker's --env-file keeps quotes around a value. The error names the variable and does not show
// the value.
func TestRead_NamesQuotes(t *testing.T) {
	_, err := Read(t.Context(), []string{Prefix + `ACCOUNT="acme"`, Prefix + `API_KEY='cAn4ry'`})
	if err == nil || !strings.Contains(err.Error(), "SPENDSYNC_ACCOUNT is in quotes, which docker's") ||
		!strings.Contains(err.Error(), "SPENDSYNC_API_KEY is in quotes") || strings.Contains(err.Error(), "cAn4ry") {
		t.Errorf("%v", err)
	}
}

// TestRead_NamesAProxyThatCannotBeParsed: without the error, the run would silently continue without the proxy.
func TestRead_NamesAProxyThatCannotBeParsed(t *testing.T) {
	for value, ok := range map[string]bool{"http://jo@acme:cAn4ry%w d@host": false, "ftp://host": false,
		"proxy.test:3128": true, "http://jo:p%25w@proxy.test": true, "socks5://host:1080": true} {
		for _, name := range []string{"HTTPS_PROXY", "https_proxy"} {
			c, err := Read(t.Context(), []string{name + "=" + value, Prefix + "ADVERTISER_URL=https://a.test",
				Prefix + "API_KEY=k", Prefix + "REPORT_URL=https://r.test", Prefix + "REPORT_USER=u",
				Prefix + "REPORT_PASSWORD=p"})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.ReportClient(ClientOptions{Log: slog.New(slog.DiscardHandler)})
			if (err == nil) != ok || err != nil && (!strings.Contains(err.Error(), name+" is not of the form") ||
				strings.Contains(err.Error(), "cAn4ry")) {
				t.Errorf("%s=%s: %v", name, value, err)
			}
		}
	}
}

// TestWithFile_ReadsWhatIsWritten: no character has a special meaning. An error gives the number of a wrong line and
// does not quote the line.
func TestWithFile_ReadsWhatIsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spendsync.env")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# a comment\n\nSPENDSYNC_ACCOUNT=acme\r\nSPENDSYNC_REPORT_PASSWORD=pa$$w0rd$HOME # x\n" +
		"SPENDSYNC_REPORT_USER = u#1 '$x'\nSPENDSYNC_API_KEY=k\"$1\\ $2\nSPENDSYNC_DATA_DIR=\n")
	got, err := WithFile([]string{"SPENDSYNC_DATA_DIR=x"}, path)
	want := []string{"SPENDSYNC_ACCOUNT=acme", `SPENDSYNC_API_KEY=k"$1\ $2`,
		"SPENDSYNC_REPORT_PASSWORD=pa$$w0rd$HOME # x",
		"SPENDSYNC_REPORT_USER=u#1 '$x'", "SPENDSYNC_DATA_DIR=x"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	// A secret has two variables, NAME and NAME_FILE. Either of them in the environment wins over the other one in the
	// file.
	write("SPENDSYNC_API_KEY_FILE=/key\nSPENDSYNC_REPORT_PASSWORD=p\n")
	want = []string{"SPENDSYNC_API_KEY=k", "SPENDSYNC_REPORT_PASSWORD_FILE=/password"}
	if got, err = WithFile(want, path); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	for text, says := range map[string]string{
		"\ufeffSPENDSYNC_ACCOUNT=a\n":    "byte order mark",
		"\xff\xfeS\x00P\x00":             "UTF-16",
		"SPENDSYNC_ACCOUNT=a\nhunter2\n": "line 2 is not of the form NAME=value",
		"SPENDSYNC_API_KEY='hunter2'\n":  "line 1: the value of SPENDSYNC_API_KEY is in quotes",
		"SPENDSYNC_API_KEY: hunter2=\n":  "line 1 is not of the form",
		"SPENDSYNC_ACCOUNT=\"\xc3\"\n":   "UTF-8",
	} {
		write(text)
		if _, err := WithFile(nil, path); err == nil || !strings.Contains(err.Error(), says) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, value := range []string{"a b", `$HOME "x" \n \\`, "'#"} {
		path := filepath.Join(t.TempDir(), "new.env")
		if err := WriteFile(path, [][2]string{{"API_KEY", value}}); err != nil {
			t.Fatal(err)
		}
		if got, err := WithFile(nil, path); err != nil || !slices.Equal(got, []string{"SPENDSYNC_API_KEY=" + value}) {
			t.Errorf("%q comes back as %q, %v", value, got, err)
		}
	}
}

// TestSecret_SaysWhatAKeyIs: if a key file is not plain text, the error says what the file contains instead.
func TestSecret_SaysWhatAKeyIs(t *testing.T) {
	for text, says := range map[string]string{"\ufeffhunter2\n": "byte order mark", "\xff\xfeh\x00u\x00": "UTF-16",
		`"hunter2"`: "in quotes", `'hunter2'`: "in quotes"} {
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSecret("API_KEY", "", path); err == nil || !strings.Contains(err.Error(), says) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if got, err := ReadSecret("REPORT_PASSWORD", `"pass"`, ""); err != nil || got != `"pass"` {
		t.Errorf("a password may have quotes: %v", err)
	}
}
