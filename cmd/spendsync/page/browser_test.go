package page

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a real Chromium with one page open.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	requests []string
	said     []string // on the console, or in the browser's log
}

// openPage opens a page in Chromium: SPENDSYNC_TEST_CHROMIUM, or the one of the
// PATH. Its profile is new, and it asks for nothing by itself.
func openPage(t *testing.T, html string) *browser {
	t.Helper()
	path := os.Getenv("SPENDSYNC_TEST_CHROMIUM")
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); path == "" && err == nil {
			path = found
		}
	}
	if path == "" {
		t.Skip("no chromium in the PATH, and SPENDSYNC_TEST_CHROMIUM is not set: apt-get install chromium")
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
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(filepath.Join(dir, "profile")),
		chromedp.Flag("disable-component-update", true), chromedp.WSURLReadTimeout(time.Minute))...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithListener(b.hear))
	t.Cleanup(cancel)
	b.ctx = ctx
	b.do(chromedp.Navigate("about:blank"))
	call(b, network.Enable, network.EnableParams{})
	b.do(chromedp.Navigate("file://" + file))
	return b
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

func (b *browser) hear(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch v := ev.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, v.Request.URL)
	case *log.EventEntryAdded:
		b.said = append(b.said, string(v.Entry.Level)+": "+v.Entry.Text)
	case *runtime.EventConsoleAPICalled:
		b.said = append(b.said, "console: "+string(v.Type))
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, "exception: "+v.ExceptionDetails.Text)
	}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

func ask[T any](b *browser, a chromedp.Action[T]) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, a)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// scheme makes the screen light or dark.
func (b *browser) scheme(name string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme",
			Value: name}}})
}

func (b *browser) width(w int64) { b.t.Helper(); b.do(chromedp.EmulateViewport(w, 844)) }

// TestPage_InARealBrowser opens a page with an ordinary account and a hostile one,
// and looks at it as people do.
func TestPage_InARealBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: starts a browser")
	}
	b := openPage(t, write(t, sampleReport(sample(40, 120), hostile())))

	t.Run("asks for nothing and says nothing", func(t *testing.T) {
		b.mu.Lock()
		defer b.mu.Unlock()
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
		if ask(b, chromedp.Evaluate[bool](`window.hacked !== undefined`)) {
			t.Error("a name of the account ran as a script")
		}
	})
	t.Run("is shown in its own style", func(t *testing.T) {
		b.t = t
		if got := ask(b,
			chromedp.Evaluate[string](`getComputedStyle(document.querySelector('section')).borderRadius`)); got ==
			"0px" {
			t.Error("the policy keeps the page's own style sheet away")
		}
	})
	t.Run("scrolls only down", func(t *testing.T) {
		b.t = t
		for _, w := range []int64{320, 390, 768, 1280} {
			b.width(w)
			if got := ask(b, chromedp.Evaluate[int64](`document.documentElement.scrollWidth`)); got > w {
				t.Errorf("at %d px the page is %d px wide: %s", w, got, ask(b, chromedp.Evaluate[string](widest)))
			}
		}
	})
	t.Run("lays no words over others", func(t *testing.T) {
		b.t = t
		for _, w := range []int64{390, 1280} {
			b.width(w)
			if got := ask(b, chromedp.Evaluate[string](overlaps)); got != "" {
				t.Errorf("at %d px:\n%s", w, got)
			}
		}
	})
	var shots [][]byte
	for _, scheme := range []string{"light", "dark"} {
		t.Run("can be read in "+scheme, func(t *testing.T) {
			b.t = t
			b.width(390)
			b.scheme(scheme)
			if got := ask(b, chromedp.Evaluate[string](pale)); got != "" {
				t.Errorf("contrast below WCAG AA:\n%s", got)
			}
			shots = append(shots, ask(b, chromedp.CaptureScreenshot()))
		})
	}
	if len(shots) == 2 && bytes.Equal(shots[0], shots[1]) {
		t.Error("light and dark look the same")
	}
	t.Run("prints", func(t *testing.T) {
		b.t = t
		pdf := ask(b, chromedp.PrintToPDF(chromedp.PDFPreferCSSPageSize(), chromedp.PDFPrintBackground()))
		if pages := bytes.Count(pdf, []byte("/Type /Page\n")); !bytes.HasPrefix(pdf, []byte("%PDF-")) || pages < 4 {
			t.Errorf("the PDF has %d bytes and %d pages", len(pdf), pages)
		}
		call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
		if h := ask(b, chromedp.Evaluate[float64](`document.querySelector('[data-table=coverage] tbody `+
			`tr').getBoundingClientRect().height`)); h == 0 {
			t.Error("the tables stay closed on paper")
		}
		b.width(688) // what the margins leave of A4
		if cut := ask(b, chromedp.Evaluate[string](cutTables)); cut != "" {
			t.Errorf("columns are cut off on paper: %s", cut)
		}
	})
}

// cutTables names the tables of the first account that are wider than what they stand in.
const cutTables = `[...document.querySelector('article').querySelectorAll('section table')]
  .map(t => [t.dataset.table || t.className,
    t.getBoundingClientRect().right - t.closest('section').getBoundingClientRect().right])
  .filter(t => t[1] > 1)
  .map(t => t[0] + ' by ' + Math.round(t[1]))
  .join(', ')`

// widest names what is wider than the window.
const widest = `[...document.querySelectorAll('body *')]
  .filter(e => !e.closest('.scroll') && e.getBoundingClientRect().right > innerWidth + 1)
  .slice(0, 5)
  .map(e => e.tagName + '.' + (e.getAttribute('class') || '') + ' ' + e.textContent.trim().slice(0, 40))
  .join('; ')`

// overlaps names texts of drawings that lie over each other or stick out.
const overlaps = `(() => {
  const bad = [];
  for (const svg of document.querySelectorAll('svg[viewBox]')) {
    const frame = svg.getBoundingClientRect();
    if (frame.width === 0) continue;
    const title = svg.querySelector('title').textContent;
    const boxes = [...svg.querySelectorAll('text')]
      .filter(t => t.textContent.trim())
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

// pale names texts whose contrast with their ground is below what WCAG asks: 4.5,
// or 3 where large or no word but a shape. Grounds with a pattern are left out.
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

// call sends one command to the browser.
func call[P, R any](b *browser, c cdp.Command[P, R], params P) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, c, params); err != nil {
		b.t.Fatal(err)
	}
}
