package transform

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spendsync/extract"
	"spendsync/schema"
)

func TestCreative_Golden(t *testing.T) {
	for _, name := range cases(t, "creatives", ".json") {
		t.Run(name, func(t *testing.T) {
			c := replying(t, map[string]string{"/v1/campaigns/C1000001/creatives": "creatives/" + name + ".json"})
			listing, err := c.Creatives(t.Context(), "C1000001")
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			fmt.Fprintf(&got, "complete %v\n", listing.Complete)
			for _, e := range listing.Entities {
				row, unread, err := readCreative(e, "C1000001", settings)
				fmt.Fprintf(&got, "creative, unread %v, error %v\n", unread, err)
				show(&got, row)
			}
			golden(t, "creatives/"+name+".golden", got.String())
		})
	}
}

const sampleCreative = `{"id":"C1000001-001","campaign_id":"C1000001","title":"t","message":"m","link":"l",` +
	`"icon_id":"i","status":"active"}`

func TestCreative_KnowsWhatAMissingKeyMeans(t *testing.T) {
	text := schema.Some[string]
	sample := schema.Creative{
		AccountID: "acme", CreativeID: "C1000001-001", CampaignID: text("C1000001"), Title: text("t"),
		Message: text("m"),
		Link:    text("l"), IconID: text("i"), Status: text("active"), RunID: "01KRUN",
	}
	for name, tc := range map[string]struct {
		body   string
		want   func(*schema.Creative)
		unread string
	}{
		"sample": {sampleCreative, func(*schema.Creative) {}, ""},
		"title/missing": {with(t, sampleCreative, "title", ""), func(c *schema.Creative) {
			c.Title.Valid,
				c.Title.V = false, ""
		}, "title"},
		"title/null": {with(t, sampleCreative, "title", "null"), func(c *schema.Creative) {
			c.Title = schema.Null[string]{}
		}, "title"},
		"title/empty": {with(t, sampleCreative, "title", `""`), func(c *schema.Creative) {
			c.Title = schema.Null[string]{}
		}, "title"},
		"campaign/missing": {with(t, sampleCreative, "campaign_id", ""), func(*schema.Creative) {}, ""},
		"status/missing": {with(t, sampleCreative, "status", ""), func(c *schema.Creative) {
			c.Status = schema.Null[string]{}
		}, "status"},
		"image/set": {with(t, sampleCreative, "image_id", `"x"`), func(c *schema.Creative) {
			c.ImageID = text("x")
		}, ""},
		"button/set": {with(t, sampleCreative, "button1", `"Click Here"`), func(c *schema.Creative) {
			c.Button1 = text("Click Here")
		}, ""},
		"reasons/an-object": {with(t, sampleCreative, "rejection_reasons", `{"code":"a"}`), func(c *schema.Creative) {
			c.RejectionReasons = text("a")
		}, ""},
		"status/spelled": {with(t, sampleCreative, "status", `"Pending Review"`), func(c *schema.Creative) {
			c.Status = text("pending_review")
		}, ""},
		"button/null": {with(t, sampleCreative, "button2", `null`), func(*schema.Creative) {}, ""},
		"reasons/sorted": {with(t, sampleCreative, "rejection_reasons", `["b","a","b"]`), func(c *schema.Creative) {
			c.RejectionReasons = text("a,b")
		}, ""},
		"reasons/empty": {with(t, sampleCreative, "rejection_reasons", `[]`), func(*schema.Creative) {}, ""},
		"reasons/objects": {with(t, sampleCreative, "rejection_reasons", `[{"reason":"b"},{"code":"a","text":"x"}]`),
			func(c *schema.Creative) { c.RejectionReasons = text("a,b") }, ""},
		"reasons/one-text": {with(t, sampleCreative, "rejection_reasons", `"a, or b"`), func(c *schema.Creative) {
			c.RejectionReasons = text("a, or b")
		}, ""},
		"comment/untouched": {with(t, sampleCreative, "rejection_comment", `" a\n"`), func(c *schema.Creative) {
			c.RejectionComment = text(" a\n")
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			want := sample
			want.Raw = text(tc.body)
			tc.want(&want)
			row, unread, err := readCreative(entity(t, "C1000001-001", tc.body), "C1000001", settings)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, row); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got := strings.Join(unread, " "); got != tc.unread {
				t.Errorf("unread %q, want %q", got, tc.unread)
			}
		})
	}
}

// TestCreative_ReadsShortEntries: without the reply about the creative itself, a missing key of a list's entry means
// nothing. With that reply, the entry only adds to it.
func TestCreative_ReadsShortEntries(t *testing.T) {
	const optional, reasons = "image_id button1 button2 ", "rejection_reasons rejection_comment "
	const content = "title message link icon_id " + optional
	const pending = "pending_status pending_title pending_message pending_link pending_image_id pending_icon_id " +
		"pending_button1 pending_button2 pending_rejection_reasons pending_rejection_comment"
	for name, tc := range map[string]struct {
		body    string
		isShort bool
		unread  string // without the reply about the creative itself
	}{
		"complete": {sampleCreative, false, optional + pending},
		"short":    {`{"id":"C1000001-001","status":"active"}`, true, content + pending},
		"rejected": {`{"id":"C1000001-001","status":"rejected"}`, true, content + reasons + pending},
		"draft":    {`{"id":"C1000001-001","status":"Draft"}`, true, content + pending},
		"null":     {with(t, sampleCreative, "icon_id", "null"), true, "icon_id " + optional + pending},
		"draft/null": {with(t, with(t, sampleCreative, "status", `"draft"`), "icon_id", "null"), false,
			optional + pending},
		"archived/null": {with(t, with(t, sampleCreative, "status", `"archived"`), "icon_id", "null"), false,
			"icon_id " + optional + pending},
		"button/null": {with(t, sampleCreative, "button2", "null"), false, "image_id button1 " + pending},
		"no status": {with(t, sampleCreative, "status", ""), true, "status " + optional + reasons +
			pending},
	} {
		t.Run(name, func(t *testing.T) {
			e := entity(t, "C1000001-001", tc.body)
			if got := IsShort(nil, e); got != tc.isShort {
				t.Errorf("short: %t, want %t", got, tc.isShort)
			}
			_, d, err := Creative(Reply{Listed: e, Campaign: "C1000001"}, settings)
			if got := d.Unread; err != nil || !slices.Equal(slices.Sorted(slices.Values(got)),
				slices.Sorted(slices.Values(strings.Fields(tc.unread)))) {
				t.Errorf("unread %q, want %q: %v", got, tc.unread, err)
			}
			row, d, err := Creative(Reply{Listed: e, Own: entity(t, "C1000001-001", sampleCreative),
				Campaign: "C1000001"}, settings)
			if err != nil || len(d.Unread) > 0 || row.Title.V != "t" || row.Raw.V != sampleCreative {
				t.Errorf("with its own reply: %v, unread %q, %v", row, d.Unread, err)
			}
		})
	}
}

func TestCreative_RefusesValuesWithTheirPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		key, value string
		want       error
	}{
		"title/true":       {"title", `true`, ErrNotText},
		"link/object":      {"link", `{}`, ErrNotText},
		"status/list":      {"status", `["active","paused"]`, ErrNotText},
		"reasons/list":     {"rejection_reasons", `[[1]]`, ErrNotList},
		"reasons/null":     {"rejection_reasons", `[null]`, ErrNotList},
		"reasons/unknown":  {"rejection_reasons", `[{"why\u001b":1}]`, ErrForm},
		"reasons/true":     {"rejection_reasons", `true`, ErrNotList},
		"campaign_id/else": {"campaign_id", `"C1000002"`, ErrOther},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := readCreative(entity(t, "C1000001-001", with(t, sampleCreative, tc.key, tc.value)), "C1000001",
				settings)
			wantFieldError(t, err, tc.want, "creative_history", "C1000001-001", tc.key)
			if name == "reasons/unknown" && !strings.Contains(err.Error(), `the keys "why\x1b"`) {
				t.Errorf("error %v does not name the keys", err)
			}
		})
	}
	_, _, err := readCreative(extract.Entity{}, "C1000001", settings)
	wantFieldError(t, err, ErrMissing, "creative_history", "", "creative_id")
}
