package page

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// browser is a real Chromium with one open page. The test controls it by the DevTools protocol, with JSON messages that
// end with a zero byte: https://chromedevtools.github.io/devtools-protocol/
type browser struct {
	t        *testing.T
	in       *os.File
	out      *bufio.Reader
	session  string // of the page
	calls    int
	loaded   bool
	requests []string
	said     []string // texts on the console and in the browser's log
}

// message is a reply, which has the ID of its command, or an event.
type message struct {
	ID     int
	Result json.RawMessage
	Error  json.RawMessage
	Method string
	Params struct {
		Request          struct{ URL string }
		Entry            struct{ Level, Text string }
		Type             string
		ExceptionDetails struct{ Text string }
	}
}

// document is a reply that contains a file.
type document struct{ Data []byte }

// args are the parameters of a command.
type args = map[string]any

// openPage opens a page in the Chromium of the PATH. The browser has a new profile and sends no requests of its own.
func openPage(t *testing.T, html string) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); path == "" && err == nil {
			path = found
		}
	}
	if path == "" {
		t.Skip("no chromium in the PATH: apt-get install chromium")
	}
	dir, err := os.MkdirTemp("", "spendsync-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeLater(dir) })
	file := filepath.Join(dir, "report.html")
	if err := os.WriteFile(file, []byte(html), 0o600); err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t}
	b.start(exec.CommandContext(t.Context(), path, "--headless", "--remote-debugging-pipe", "--no-sandbox",
		"--disable-gpu", "--no-first-run", "--hide-scrollbars", "--force-color-profile=srgb",
		"--disable-background-networking", "--disable-component-update", "--disable-default-apps",
		"--disable-extensions", "--disable-sync", "--disable-dev-shm-usage", "--password-store=basic",
		"--user-data-dir="+filepath.Join(dir, "profile")))
	target := ask[struct{ TargetID string }](b, "Target.createTarget", args{"url": "about:blank"})
	b.session = ask[struct{ SessionID string }](b, "Target.attachToTarget",
		args{"targetId": target.TargetID, "flatten": true}).SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.do(domain+".enable", args{})
	}
	b.loaded = false
	b.do("Page.navigate", args{"url": "file://" + file})
	for !b.loaded {
		b.hear()
	}
	return b
}

// start starts the browser, which reads commands from file descriptor 3 and writes replies to file descriptor 4.
func (b *browser) start(cmd *exec.Cmd) {
	b.t.Helper()
	its3, in, err := os.Pipe()
	if err != nil {
		b.t.Fatal(err)
	}
	out, its4, err := os.Pipe()
	if err != nil {
		b.t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{its3, its4}
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	its3.Close()
	its4.Close()
	b.in, b.out = in, bufio.NewReader(out)
	b.t.Cleanup(func() {
		in.Close() // this ends the browser
		cmd.Wait()
		out.Close()
	})
}

// removeLater removes a profile whose browser may still be writing.
func removeLater(dir string) {
	for range 50 {
		if os.RemoveAll(dir) == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// hear returns the next message. From events it keeps the texts on the console and in the log.
func (b *browser) hear() (m message) {
	b.t.Helper()
	text, err := b.out.ReadBytes(0)
	if err == nil {
		err = json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &m)
	}
	if err != nil {
		b.t.Fatalf("the browser: %v: %.200s", err, text)
	}
	switch m.Method {
	case "Page.loadEventFired":
		b.loaded = true
	case "Network.requestWillBeSent":
		b.requests = append(b.requests, m.Params.Request.URL)
	case "Log.entryAdded":
		b.said = append(b.said, m.Params.Entry.Level+": "+m.Params.Entry.Text)
	case "Runtime.consoleAPICalled":
		b.said = append(b.said, "console: "+m.Params.Type)
	case "Runtime.exceptionThrown":
		b.said = append(b.said, "exception: "+m.Params.ExceptionDetails.Text)
	}
	return m
}

func (b *browser) do(method string, params args) { b.t.Helper(); ask[struct{}](b, method, params) }

// ask sends a command and returns the browser's reply.
func ask[T any](b *browser, method string, params args) (answer T) {
	b.t.Helper()
	b.calls++
	command := args{"id": b.calls, "method": method, "params": params}
	if b.session != "" {
		command["sessionId"] = b.session
	}
	text, err := json.Marshal(command)
	if err == nil {
		_, err = b.in.Write(append(text, 0))
	}
	var m message
	for err == nil && m.ID != b.calls {
		m = b.hear()
	}
	if err == nil && m.Error == nil {
		err = json.Unmarshal(m.Result, &answer)
	}
	if err != nil || m.Error != nil {
		b.t.Fatalf("%s: %v %s", method, err, m.Error)
	}
	return answer
}

// evaluate returns the value of a JavaScript expression within the page.
func evaluate[T any](b *browser, expression string) T {
	b.t.Helper()
	a := ask[struct {
		Result           struct{ Value T }
		ExceptionDetails json.RawMessage
	}](b, "Runtime.evaluate", args{"expression": expression, "returnByValue": true})
	if a.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, a.ExceptionDetails)
	}
	return a.Result.Value
}

// scheme sets the color scheme: light or dark.
func (b *browser) scheme(name string) {
	b.t.Helper()
	b.do("Emulation.setEmulatedMedia", args{"features": []args{{"name": "prefers-color-scheme", "value": name}}})
}

func (b *browser) width(w int64) {
	b.t.Helper()
	b.do("Emulation.setDeviceMetricsOverride", args{"width": w, "height": 844, "deviceScaleFactor": 1, "mobile": false})
}

// TestPage_InARealBrowser opens a page with an ordinary account and an account with hostile texts, and checks what
// people would see.
func TestPage_InARealBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: starts a browser")
	}
	b := openPage(t, write(t, samplePage(sample(40, 120), hostile())))

	t.Run("asks for nothing and says nothing", func(t *testing.T) {
		for _, r := range b.requests {
			if !strings.HasPrefix(r, "file://") && r != "about:blank" && !strings.HasPrefix(r, "data:") {
				t.Errorf("the page asked for %s", r)
			}
		}
		if len(b.requests) == 0 {
			t.Error("no request was seen, not even that for the page: the test is blind")
		}
		for _, s := range b.said {
			t.Errorf("the browser says %s", s)
		}
	})
	t.Run("runs nothing", func(t *testing.T) {
		b.t = t
		if evaluate[bool](b, `window.hacked !== undefined`) {
			t.Error("a name of the account ran as a script")
		}
	})
	t.Run("is shown in its own style", func(t *testing.T) {
		b.t = t
		if evaluate[bool](b, `getComputedStyle(document.querySelector('section')).borderRadius === '0px'`) {
			t.Error("the policy keeps the page's own style sheet away")
		}
	})
	t.Run("scrolls only down", func(t *testing.T) {
		b.t = t
		for _, w := range []int64{320, 390, 768, 1280} {
			b.width(w)
			if got := evaluate[int64](b, `document.documentElement.scrollWidth`); got > w {
				t.Errorf("at %d px the page is %d px wide: %s", w, got, evaluate[string](b, widest))
			}
		}
	})
	t.Run("lays no words over others", func(t *testing.T) {
		b.t = t
		for _, w := range []int64{390, 1280} {
			b.width(w)
			if got := evaluate[string](b, overlaps); got != "" {
				t.Errorf("at %d px:\n%s", w, got)
			}
		}
	})
	t.Run("folds the campaigns that pay on a phone", func(t *testing.T) {
		b.t = t
		const shown = `[...document.querySelector('.t-campaigns tr:has(.c-%s)').querySelectorAll('td')]
			.filter(e => e.offsetWidth > 0)
			.map(e => e.dataset.label)
			.join(' ')`
		for w, want := range map[int64]string{390: "Verdict Profit CPA", 1280: "Verdict Spend Profit CPA"} {
			b.width(w)
			pays := evaluate[string](b, fmt.Sprintf(shown, "pays"))
			loses := evaluate[string](b, fmt.Sprintf(shown, "loses"))
			if pays != want || loses != "Verdict Spend Profit CPA" {
				t.Errorf("at %d px a campaign that pays has %s, one that loses %s", w, pays, loses)
			}
		}
	})
	var shots [][]byte
	for _, scheme := range []string{"light", "dark"} {
		t.Run("can be read in "+scheme, func(t *testing.T) {
			b.t = t
			b.width(390)
			b.scheme(scheme)
			if got := evaluate[string](b, pale); got != "" {
				t.Errorf("contrast below WCAG AA:\n%s", got)
			}
			shots = append(shots, ask[document](b, "Page.captureScreenshot", args{}).Data)
		})
	}
	if len(shots) == 2 && bytes.Equal(shots[0], shots[1]) {
		t.Error("light and dark look the same")
	}
	t.Run("prints", func(t *testing.T) {
		b.t = t
		sheets := func() int {
			pdf := ask[document](b, "Page.printToPDF", args{"preferCSSPageSize": true, "printBackground": true}).Data
			return bytes.Count(pdf, []byte("/Type /Page\n"))
		}
		closed := sheets()
		b.do("Emulation.setEmulatedMedia", args{"media": "print"})
		const height = `document.querySelector('section.folded').getBoundingClientRect().height`
		if h := evaluate[float64](b, height); h != 0 {
			t.Error("a section that is folded is on paper")
		}
		evaluate[bool](b, `document.querySelectorAll('details').forEach(d => d.open = true), true`)
		if h := evaluate[float64](b, height); h == 0 {
			t.Error("a section that was opened is not on paper")
		}
		if opened := sheets(); closed < 3 || opened < closed+3 {
			t.Errorf("%d sheets, %d with all tables", closed, opened)
		}
		b.width(688) // the width of A4 without the margins
		if cut := evaluate[string](b, cutTables); cut != "" {
			t.Errorf("columns are cut off on paper: %s", cut)
		}
	})
}

// TestSummary_IsOneSheetEach prints two documents. The first has a usual account, a large account and an account
// without numbers. The second has a small account and an account with the longest possible texts. A browser shrinks all
// sheets of a document if one is too wide, so the second document does not show whether the usual account fits.
func TestSummary_IsOneSheetEach(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: starts a browser")
	}
	for _, r := range []Page{samplePage(fullSheet(), sample(45, 135), Account{Name: "new"}),
		samplePage(sample(40, 120), hostile())} {
		var html bytes.Buffer
		if err := WriteSummary(&html, r); err != nil {
			t.Fatal(err)
		}
		b := openPage(t, html.String())
		for paper, size := range map[string]args{"its own paper": {"preferCSSPageSize": true},
			"A4": {"paperWidth": 8.27, "paperHeight": 11.69}, "US Letter": {"paperWidth": 8.5, "paperHeight": 11}} {
			size["printBackground"] = true
			pdf := ask[document](b, "Page.printToPDF", size).Data
			if sheets := bytes.Count(pdf, []byte("/Type /Page\n")); sheets != len(r.Accounts) {
				t.Errorf("%s: %d sheets for %d accounts", paper, sheets, len(r.Accounts))
			}
		}
		b.do("Emulation.setEmulatedMedia", args{"media": "print"})
		b.width(725) // the width of A4 without the margins
		const cut = `[...document.querySelectorAll('#a1 .tile > *')]
			.filter(e => e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1)
			.map(e => e.textContent)
			.join('\n')`
		if got := evaluate[string](b, cut); got != "" {
			t.Errorf("tiles are cut off on paper:\n%s", got)
		}
		b.do("Emulation.setEmulatedMedia", args{"media": "screen"})
		for _, w := range []int64{390, 800, 1280} {
			b.width(w)
			if got := evaluate[int64](b, `document.documentElement.scrollWidth`); got > w {
				t.Errorf("at %d px it is %d px wide: %s", w, got, evaluate[string](b, widest))
			}
			if cut := evaluate[string](b, cutTables); cut != "" {
				t.Errorf("at %d px columns are cut off: %s", w, cut)
			}
		}
	}
}

// fullSheet is an account with the longest texts that the sections of a sheet usually have.
func fullSheet() Account {
	a := sample(45, 135)
	const tile = ";39104.703179;money;-0.092;change;NULL;"
	a.Sections[0].Blocks[0] = block("tiles", "", "label;value;unit;change;change_unit;better;note;spark",
		"Spend"+tile+"7 days to Wed 25 Nov, 6 of them known. Yesterday $14,377, −20 % on its usual;1,2,3,2.5",
		"Revenue"+tile+"1,873 conversions so far, 2,609 with those to come;1,2,3,2.5",
		"Profit"+tile+"CPA $14.21, +7.2 % at equal age;1,2,3,2.5",
		"ROI"+tile+"profit by spend, conversions to come counted in;1,2,3,2.5",
		"Money left;1.8;days;NULL;NULL;true;$21,053, until $50.00 is left, and $15,295 a day goes;NULL",
		"Month;153270;money;NULL;NULL;NULL;28 known days, and $1,166,064 by its end ($1,163,569 to $1,168,560). A "+
			"day’s spend is +11 % on that of last month, $14,926;NULL")
	task := "Sleeping bags | worldwide desktop: change its creatives, sources or audience, or pause it (lowering its " +
		"bid does not help: the service sets bids toward the target CPA) (a conversion costs $117.24, and is worth " +
		"$104.67);1156"
	a.Sections[1].Blocks[0] = block("todo", "", "text;at_stake", task, task, task)
	row := ";Sleeping bags | worldwide desktop;conversions stopped from 2026-11-17 to 2026-11-20: 0 came where 103 " +
		"were to be expected;12839;13520;0.112;not comparable yet;-1641.35"
	changed := Section{Name: "changed", Title: "What changed, and what came of it?", Blocks: []Block{
		block("say", "", "tone;text;at_stake", "plain;Spend of the week to Sat 28 Nov is −20 % a day on the week "+
			"before, CPA +7.2 % at equal age. Below: what people changed and what broke in the 14 days before the "+
			"last read and on its day, the largest effect in dollars first, then the newest;NULL"),
		block("table", "", "key;Seen|day;Campaign|name;What|text;Spend a day before|money;after|money;CPA|change;"+
			"Effect|chip;Effect a day|money", "k1;Tue 17 Nov"+row, "k2;Sun 15 Nov"+row, "k3;Mon 23 Nov"+row,
			"k4;Tue 24 Nov"+row)}}
	a.Sections = slices.Insert(a.Sections, 2, changed)
	return a
}

// cutTables lists the tables of the first account that are wider than the elements that contain them.
const cutTables = `[...document.querySelector('article').querySelectorAll('section table')]
  .map(t => [t.dataset.table || t.className,
    t.getBoundingClientRect().right - t.closest('section').getBoundingClientRect().right])
  .filter(t => t[1] > 1)
  .map(t => t[0] + ' by ' + Math.round(t[1]))
  .join(', ')`

// widest lists elements that extend beyond the window.
const widest = `[...document.querySelectorAll('body *')]
  .filter(e => !e.closest('.scroll') && e.getBoundingClientRect().right > innerWidth + 1)
  .slice(0, 5)
  .map(e => e.tagName + '.' + (e.getAttribute('class') || '') + ' ' + e.textContent.trim().slice(0, 40))
  .join('; ')`

// overlaps lists texts in drawings that overlap each other or extend beyond the drawing.
const overlaps = `(() => {
  const bad = [];
  for (const svg of document.querySelectorAll('svg.chart')) {
    const frame = svg.parentElement.getBoundingClientRect(); // with the margin of the axis
    if (frame.width === 0) continue;
    const title = svg.querySelector('title').textContent;
    const labels = [...svg.querySelectorAll('.axis')].map(e => e.getBoundingClientRect().right);
    const drawn = [...svg.querySelectorAll('rect, polyline, .grid')].map(e => e.getBoundingClientRect().left);
    if (Math.max(...labels) > Math.min(...drawn)) bad.push(title + ': labels of the axis lie in the drawing');
    const boxes = [...svg.querySelectorAll('text')]
      .filter(t => t.textContent.trim() && t.getBoundingClientRect().width)
      .map(t => ({text: t.textContent, r: t.getBoundingClientRect()}));
    boxes.forEach((a, i) => {
      if (a.r.left < frame.left - 1.5 || a.r.right > frame.right + 1.5 ||
          a.r.top < frame.top - 1.5 || a.r.bottom > frame.bottom + 1.5)
        bad.push(title + ': "' + a.text + '" sticks out');
      for (const b of boxes.slice(i + 1)) {
        const w = Math.min(a.r.right, b.r.right) - Math.max(a.r.left, b.r.left);
        const h = Math.min(a.r.bottom, b.r.bottom) - Math.max(a.r.top, b.r.top);
        if (w > 1 && h > 4) bad.push(title + ': "' + a.text + '" and "' + b.text + '" overlap');
      }
    });
  }
  return [...new Set(bad)].slice(0, 12).join('\n');
})()`

// pale lists texts whose contrast with the background is lower than WCAG demands: 4.5, or 3 for large text and for
// shapes. Backgrounds with a pattern are left out.
const pale = `(() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const known = new Map();
  const rgb = c => known.get(c) || known.set(c, measure(c)).get(c);
  const measure = c => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = c;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const linear = v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = c => {
    const [r, g, b] = c.map(v => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = e => { for (; e; e = e.parentElement) { const s = getComputedStyle(e);
    if (s.backgroundImage !== 'none') return null;
    const c = rgb(s.backgroundColor); if (c[3] > 250) return c; } return [255, 255, 255, 255]; };
  const bad = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n = walk.nextNode(); n; n = walk.nextNode()) {
    const e = n.parentElement;
    if (!n.textContent.trim() || e.closest('.away, title, desc, style')) continue;
    if (e.getBoundingClientRect().width === 0) continue;
    const s = getComputedStyle(e), inSVG = e instanceof SVGElement;
    const back = ground(inSVG ? e.closest('section') : e);
    if (!back) continue;
    const front = rgb(inSVG ? s.fill : s.color), a = light(front.slice(0, 3)), b = light(back.slice(0, 3));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = parseFloat(s.fontSize);
    const large = e.matches('.shape') || size >= 24 || (size >= 18.6 && +s.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) bad.add(ratio.toFixed(2) + ' ' + e.tagName + '.' +
      (e.getAttribute('class') || '') + ' "' + n.textContent.trim().slice(0, 30) + '"');
  }
  return [...bad].slice(0, 12).join('\n');
})()`
