package transform

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"spendsync/extract"
	"spendsync/extract/service"
	"spendsync/schema"
)

var update = flag.Bool("update", false, "write the golden files")

var (
	day    = schema.NewDate(2026, 3, 8)
	seenAt = schema.Instant(1_773_000_000_000_000)
	run    = SpendContext{Account: "acme", RunID: "01KRUN", Day: day, SeenAt: seenAt}
)

// sample returns a row without anything unusual.
func sample() extract.SpendLine {
	v := func(s string) extract.Value { return extract.Value(s) }
	return extract.SpendLine{
		Date: v(`"2026-03-08"`), CampaignID: v(`"C1000001"`), CampaignName: v(`"Spring"`),
		CreativeID: v(`"C1000001-001"`), SourceID: v(`"S17"`),
		TotalSpend: v(`1.25`), Clicks: v(`5`), Impressions: v(`100`), Conversions: v(`1`),
	}
}

func sampleRow() schema.Spend {
	return schema.Spend{
		AccountID: "acme", ReportDate: day, CampaignID: "C1000001",
		CreativeID: "C1000001-001", SourceID: "S17", Spend: 1_250_000,
		Clicks: schema.Some[int64](5), Impressions: schema.Some[int64](100), Conversions: schema.Some[int64](1),
		FirstSeenAt: seenAt, ChangedAt: seenAt, RunID: "01KRUN",
	}
}

// set changes one value of a row; nil makes it absent.
func set(l *extract.SpendLine, column string, v extract.Value) {
	*map[string]*extract.Value{
		"date": &l.Date, "campaign_id": &l.CampaignID, "campaign_name": &l.CampaignName,
		"creative_id": &l.CreativeID, "source_id": &l.SourceID, "total_spend": &l.TotalSpend,
		"clicks": &l.Clicks, "impressions": &l.Impressions, "conversions": &l.Conversions,
	}[column] = v
}

func page(items ...extract.SpendLine) extract.Page[extract.SpendLine] {
	return extract.Page[extract.SpendLine]{Number: 3, Items: items}
}

// text returns a text in JSON.
func text(s string) extract.Value {
	b, _ := json.Marshal(s)
	return b
}

// spendOf returns the rows of one page, and the first refusal as an error. It fails if an earlier row of the day
// changed.
func spendOf(p extract.Page[extract.SpendLine], c SpendContext, intern *Interner) (rows []schema.Spend, rounded int,
	err error) {
	before := sampleRow()
	before.AccountID, before.ReportDate = c.Account, c.Day
	day := &schema.SpendRows{}
	day.Append(&before)
	became := AppendSpend(day, p, c, intern)
	if rounded = became.Rounded; len(became.Refused) > 0 {
		err = &became.Refused[0].RowError
	}
	for i, r := range day.All() {
		if i > 0 {
			rows = append(rows, *r)
		} else if *r != before {
			return nil, 0, fmt.Errorf("the row before is %+v", *r)
		}
	}
	return rows, rounded, err
}

func TestSpend_Golden(t *testing.T) {
	files, err := filepath.Glob("../testdata/pages/spend/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("pages %v, error %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p, err := extract.DecodeSpend(nil, body)
			if err != nil {
				t.Fatal(err)
			}
			rows, rounded, err := spendOf(p, run, NewInterner())
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			fmt.Fprintf(&got, "page %d, %d rows in all, %d rounded\n", p.Number, p.Total, rounded)
			for _, k := range p.Unknown {
				fmt.Fprintf(&got, "unknown %s: %s\n", k.Path, k.Type)
			}
			enc := json.NewEncoder(&got)
			enc.SetEscapeHTML(false)
			for _, r := range rows {
				if err := enc.Encode(r); err != nil {
					t.Fatal(err)
				}
			}
			golden := strings.TrimSuffix(file, ".json") + ".golden"
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestSpend_TakesValuesAsTheyAre(t *testing.T) {
	null := schema.Null[int64]{}
	for name, tc := range map[string]struct {
		column, value string // empty value: absent
		want          func(*schema.Spend)
		rounded       int
	}{
		"sample":     {"clicks", "5", func(*schema.Spend) {}, 0},
		"spend/text": {"total_spend", `"1.25"`, func(*schema.Spend) {}, 0},
		"spend/text-noise": {"total_spend", `"12.300000000000001"`, func(r *schema.Spend) { r.Spend = 12_300_000 },
			1},
		"clicks/text":    {"clicks", `"5"`, func(*schema.Spend) {}, 0},
		"spend/exponent": {"total_spend", "125e-2", func(*schema.Spend) {}, 0},
		"spend/whole":    {"total_spend", "3", func(r *schema.Spend) { r.Spend = 3 * schema.Dollar }, 0},
		"spend/float-noise": {"total_spend", "12.300000000000001", func(r *schema.Spend) { r.Spend = 12_300_000 },
			1},
		"spend/trailing-zeros": {"total_spend", "1.2500000000", func(*schema.Spend) {}, 0},
		"spend/half-to-even":   {"total_spend", "0.0000025", func(r *schema.Spend) { r.Spend = 2 }, 1},
		"spend/credit":         {"total_spend", "-4.5", func(r *schema.Spend) { r.Spend = -4_500_000 }, 0},
		"spend/zero":           {"total_spend", "0.00", func(r *schema.Spend) { r.Spend = 0 }, 0},
		"spend/largest": {"total_spend", "999999999999.999999", func(r *schema.Spend) {
			r.Spend = schema.MaxMoney
		}, 0},
		"clicks/whole-float": {"clicks", "1.0", func(r *schema.Spend) { r.Clicks = schema.Some[int64](1) }, 0},
		"clicks/exponent":    {"clicks", "1e2", func(r *schema.Spend) { r.Clicks = schema.Some[int64](100) }, 0},
		"clicks/zero":        {"clicks", "0", func(r *schema.Spend) { r.Clicks = schema.Some[int64](0) }, 0},
		"clicks/minus-zero":  {"clicks", "-0", func(r *schema.Spend) { r.Clicks = schema.Some[int64](0) }, 0},
		"clicks/null":        {"clicks", "null", func(r *schema.Spend) { r.Clicks = null }, 0},
		"impressions/null":   {"impressions", "null", func(r *schema.Spend) { r.Impressions = null }, 0},
		"impressions/past-2^53": {"impressions", "9007199254740993", func(r *schema.Spend) {
			r.Impressions = schema.Some[int64](9007199254740993)
		}, 0},
		"impressions/largest": {"impressions", "100000000000000000", func(r *schema.Spend) {
			r.Impressions = schema.Some[int64](100_000_000_000_000_000)
		}, 0},
		"conversions/null":     {"conversions", "null", func(r *schema.Spend) { r.Conversions = null }, 0},
		"date/absent":          {"date", "", func(*schema.Spend) {}, 0},
		"date/null":            {"date", "null", func(*schema.Spend) {}, 0},
		"date/escaped":         {"date", `"2026\u002d03-08"`, func(*schema.Spend) {}, 0},
		"source/path":          {"source_id", `"../x/a"`, func(r *schema.Spend) { r.SourceID = "../x/a" }, 0},
		"source/escaped-slash": {"source_id", `"a\/b"`, func(r *schema.Spend) { r.SourceID = "a/b" }, 0},
		"source/unicode":       {"source_id", `"S\u00e9"`, func(r *schema.Spend) { r.SourceID = "Sé" }, 0},
		"source/longest": {"source_id", `"` + strings.Repeat("s", 200) + `"`, func(r *schema.Spend) {
			r.SourceID = strings.Repeat("s", 200)
		}, 0},
		"campaign/lower-case": {"campaign_id", `"c1000001"`, func(r *schema.Spend) { r.CampaignID = "c1000001" },
			0},
		"campaign/blanks":       {"campaign_id", `" C1000001 "`, func(*schema.Spend) {}, 0},
		"creative/newline":      {"creative_id", `"\tC1000001-001\r\n"`, func(*schema.Spend) {}, 0},
		"source/no-break-space": {"source_id", `"\u00a0S17\u0085"`, func(*schema.Spend) {}, 0},
		"source/inner-blank":    {"source_id", `" S 17"`, func(r *schema.Spend) { r.SourceID = "S 17" }, 0},
		"source/dash":           {"source_id", `"-"`, func(r *schema.Spend) { r.SourceID = "-" }, 0},
		"source/number":         {"source_id", `4711`, func(r *schema.Spend) { r.SourceID = "4711" }, 0},
		"campaign/number":       {"campaign_id", `1000001`, func(r *schema.Spend) { r.CampaignID = "1000001" }, 0},
		"clicks/credit":         {"clicks", `"-90"`, func(r *schema.Spend) { r.Clicks = schema.Some[int64](-90) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l, want := sample(), sampleRow()
			if set(&l, tc.column, extract.Value(tc.value)); tc.value == "" {
				set(&l, tc.column, nil)
			}
			tc.want(&want)
			rows, rounded, err := spendOf(page(l), run, NewInterner())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]schema.Spend{want}, rows); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if rounded != tc.rounded {
				t.Errorf("rounded = %d, want %d", rounded, tc.rounded)
			}
		})
	}
}

func TestSpend_RefusesValuesWithTheirPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		column, value string
		want          error
	}{
		"spend/absent":          {"total_spend", "", ErrMissing},
		"spend/null":            {"total_spend", "null", ErrMissing},
		"spend/text":            {"total_spend", `"1,25"`, schema.ErrNotNumber},
		"spend/currency":        {"total_spend", `"$1.25"`, schema.ErrNotNumber},
		"spend/empty":           {"total_spend", `""`, schema.ErrNotNumber},
		"spend/nan":             {"total_spend", `"NaN"`, schema.ErrNotNumber},
		"spend/infinity":        {"total_spend", `"Infinity"`, schema.ErrNotNumber},
		"spend/1e400":           {"total_spend", `1e400`, schema.ErrRange},
		"spend/too-large":       {"total_spend", `1000000000000`, schema.ErrRange},
		"spend/boolean":         {"total_spend", `true`, schema.ErrNotNumber},
		"spend/object":          {"total_spend", `{"usd":1}`, schema.ErrNotNumber},
		"spend/array":           {"total_spend", `[1]`, schema.ErrNotNumber},
		"spend/long-text":       {"total_spend", `"` + strings.Repeat("1", 300) + `"`, schema.ErrNotNumber},
		"spend/long-number":     {"total_spend", strings.Repeat("1", 300), schema.ErrRange},
		"date/time":             {"date", `"2026-03-08T05:00:00"`, ErrNotDay},
		"date/number":           {"date", `20260308`, ErrNotDay},
		"campaign/object":       {"campaign_id", `{"id":"C1"}`, ErrNotText},
		"campaign/newline":      {"campaign_id", `"C1\n2"`, ErrControl},
		"campaign/absent":       {"campaign_id", "", ErrNoOwner},
		"campaign/null":         {"campaign_id", "null", ErrNoOwner},
		"campaign/blank":        {"campaign_id", `" "`, ErrNoOwner},
		"creative/absent":       {"creative_id", "", ErrNoOwner},
		"creative/null":         {"creative_id", "null", ErrNoOwner},
		"creative/empty":        {"creative_id", `""`, ErrNoOwner},
		"source/absent":         {"source_id", "", ErrNoOwner},
		"source/null":           {"source_id", "null", ErrNoOwner},
		"source/empty":          {"source_id", `""`, ErrNoOwner},
		"source/blanks":         {"source_id", `"\t \u00a0"`, ErrNoOwner},
		"campaign/nul":          {"campaign_id", `"C1\u0000"`, ErrControl},
		"creative/delete":       {"creative_id", "\"C\x7f\"", ErrControl},
		"source/long":           {"source_id", `"` + strings.Repeat("s", 201) + `"`, ErrTooLong},
		"source/c1-control":     {"source_id", `"S\u00851"`, ErrControl},
		"source/lone-surrogate": {"source_id", `"S\ud800"`, ErrBrokenID},
		"campaign/replaced":     {"campaign_id", `"C1\ufffd"`, ErrBrokenID},
		"source/boolean":        {"source_id", `true`, ErrNotText},
		"source/fraction":       {"source_id", `4711.0`, ErrNotText},
		"source/exponent":       {"source_id", `4e3`, ErrNotText},
		"source/negative":       {"source_id", `-4711`, ErrNotText},
	} {
		t.Run(name, func(t *testing.T) {
			l := sample()
			if set(&l, tc.column, extract.Value(tc.value)); tc.value == "" {
				set(&l, tc.column, nil)
			}
			l.JSON = extract.Value(`{"the":["row"]}`)
			p := page(sample(), l, sample())
			rows, rounded, err := spendOf(p, run, NewInterner())
			if diff := cmp.Diff([]schema.Spend{sampleRow(), sampleRow()}, rows); diff != "" || rounded != 0 {
				t.Errorf("the rows beside it, %d rounded: (-want +got)\n%s", rounded, diff)
			}
			if got := AppendSpend(&schema.SpendRows{}, p, run, NewInterner()).Refused; len(got) != 1 ||
				got[0].JSON != `{"the":["row"]}` {
				t.Errorf("refused %+v", got)
			}
			e, ok := errors.AsType[*RowError](err)
			if !ok {
				t.Fatalf("error %v, want a RowError", err)
			}
			if !errors.Is(err, tc.want) || !errors.Is(err, extract.ErrContract) {
				t.Errorf("error %v, want %v and ErrContract", err, tc.want)
			}
			place := fmt.Sprint(e.Table, e.Page, e.Row, e.Column)
			if want := fmt.Sprint("spend_daily", 3, 2, tc.column); place != want {
				t.Errorf("place %s, want %s", place, want)
			}
			if len(e.Value) > 60 || !strings.HasPrefix(tc.value, strings.TrimSuffix(e.Value, "...")) {
				t.Errorf("value %q of %.80q", e.Value, tc.value)
			}
			if strings.ContainsAny(err.Error(), "\n\r\x00\x7f\x1b") || !utf8.ValidString(err.Error()) {
				t.Errorf("error %q does not print", err)
			}
		})
	}
}

// TestSpend_LeavesCountsOfIdleRowsUnknown: a row without spend may lack its counts, which are then NULL and not unread.
func TestSpend_LeavesCountsOfIdleRowsUnknown(t *testing.T) {
	l, want := sample(), sampleRow()
	l.TotalSpend, l.Clicks, l.Impressions, l.Conversions = extract.Value("0"), nil, nil, nil
	want.Spend, want.Clicks, want.Impressions, want.Conversions = 0, schema.Null[int64]{}, schema.Null[int64]{},
		schema.Null[int64]{}
	rows, _, err := spendOf(page(l), run, NewInterner())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]schema.Spend{want}, rows); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestSpend_NeedsNoOwnerWithoutSpend: a row without spend may lack any of its IDs. A row with a hundredth of a cent, of
// either sign, needs all its IDs.
func TestSpend_NeedsNoOwnerWithoutSpend(t *testing.T) {
	for _, column := range []string{"campaign_id", "creative_id", "source_id"} {
		for _, value := range []string{"", "null", `""`, `" "`} {
			for spend, want := range map[string]error{"0": nil, "-0.00": nil, "0.0000001": nil, "0.0001": ErrNoOwner,
				"-0.0001": ErrNoOwner, `"12"`: ErrNoOwner} {
				l := sample()
				l.TotalSpend = extract.Value(spend)
				if set(&l, column, extract.Value(value)); value == "" {
					set(&l, column, nil)
				}
				rows, _, err := spendOf(page(l), run, NewInterner())
				if !errors.Is(err, want) || (err == nil) != (want == nil) || len(rows) == 1 != (want == nil) {
					t.Errorf("%s %s with a spend of %s: %d rows, error %v", column, value, spend, len(rows), err)
				}
			}
		}
	}
}

// TestSpend_AnEmptyRowIsAZero: the row of a creative that was not delivered may lack its date, source, spend and
// counts; the missing numbers are 0. If the row has a source or a count, a missing spend is an error.
func TestSpend_AnEmptyRowIsAZero(t *testing.T) {
	forms := []extract.Value{nil, extract.Value("null")}
	idle := func(v extract.Value) extract.SpendLine {
		l := sample()
		for _, column := range []string{"date", "source_id", "total_spend", "clicks", "impressions", "conversions"} {
			set(&l, column, v)
		}
		return l
	}
	for _, v := range forms {
		want := sampleRow()
		want.SourceID, want.Spend = "", 0
		zero := schema.Some[int64](0)
		want.Clicks, want.Impressions, want.Conversions = zero, zero, zero
		rows, _, err := spendOf(page(idle(v)), run, NewInterner())
		if err != nil {
			t.Errorf("%q: %v", v, err)
		}
		if diff := cmp.Diff([]schema.Spend{want}, rows); diff != "" {
			t.Errorf("%q (-want +got)\n%s", v, diff)
		}
		for column, other := range map[string]string{"clicks": "1", "impressions": "7", "conversions": `"n/a"`,
			"source_id": `"S17"`, "campaign_id": `""`, "creative_id": `""`} {
			l := idle(v)
			set(&l, column, extract.Value(other))
			if rows, _, err := spendOf(page(l), run, NewInterner()); !errors.Is(err, ErrMissing) || len(rows) > 0 {
				t.Errorf("%q, with %s %s: %d rows, error %v", v, column, other, len(rows), err)
			}
		}
	}
	l := idle(nil)
	set(&l, "clicks", extract.Value("0"))
	if rows, _, err := spendOf(page(l), run, NewInterner()); err != nil || len(rows) != 1 ||
		rows[0].Clicks != schema.Some[int64](0) {
		t.Errorf("clicks of 0: %v, error %v", rows, err)
	}
}

// TestInterner_KeepsIDsAndTextsApart: an ID and a text of the same bytes each keep their own rules.
func TestInterner_KeepsIDsAndTextsApart(t *testing.T) {
	intern := NewInterner()
	v := text("a\nb")
	if _, err := intern.text(v); err != nil {
		t.Fatal(err)
	}
	if _, err := intern.id(v); !errors.Is(err, ErrControl) {
		t.Errorf("error %v, want %v", err, ErrControl)
	}
}

// TestSpend_AStrayRowRefusesTheRead: a stray row is of another day or in another currency.
func TestSpend_AStrayRowRefusesTheRead(t *testing.T) {
	for name, c := range map[string]struct {
		value string
		want  error
	}{
		"date": {`"2026-03-09"`, ErrOtherDay}, "date/before": {`"2026-03-07"`, ErrOtherDay}, "currency": {`"EUR"`,
			ErrCurrency},
	} {
		l := sample()
		if c.want == ErrOtherDay {
			l.Date = extract.Value(c.value)
		} else {
			l.Currency = extract.Value(c.value)
		}
		d := NewDayRows(run, NewInterner())
		_, err := d.Add(page(sample(), l))
		if !errors.Is(err, c.want) || !errors.Is(err, extract.ErrContract) || !strings.Contains(err.Error(), "row 2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSpend_AMeasureThatCannotBeRead: the count becomes NULL, its row is stored, and the form of its value is counted.
// A count that was not requested is NULL, too.
func TestSpend_AMeasureThatCannotBeRead(t *testing.T) {
	for value, form := range map[string]string{`"7 clicks"`: "clicks.string", "0.5": "clicks.fraction",
		"1e30": "clicks.huge", `""`: "clicks.string", "twice: 5, 6": "clicks.twice", "null": "",
		"": ""} {
		l := sample()
		if set(&l, "clicks", extract.Value(value)); value == "" {
			l.Clicks = nil
		}
		d := NewDayRows(run, NewInterner())
		want := map[string]int64{}
		if form != "" {
			want[form] = 1
		}
		if _, err := d.Add(page(l)); err != nil || !maps.Equal(d.UnreadForms, want) || d.Rows.Len() != 1 ||
			d.Unread > 0 != (value != "null") || d.NoClicks != (form != "") {
			t.Errorf("%s: %+v, %v", value, d, err)
		}
		if d.Unread > 0 && (d.Aside[0].Reason == ErrTwice.Error()) != (form == "clicks.twice") {
			t.Errorf("%s: the reason is %q", value, d.Aside[0].Reason)
		}
	}
	word, fraction := sample(), sample()
	word.Clicks, fraction.Impressions = extract.Value(`"n/a"`), extract.Value("0.5")
	d := NewDayRows(run, NewInterner())
	for _, lines := range [][]extract.SpendLine{{word, fraction, fraction, sample()}, {word, fraction}} {
		piece := NewDayRows(run, NewInterner())
		if _, err := piece.Add(page(lines...)); err != nil {
			t.Fatal(err)
		}
		d.AddPiece(schema.Piece{}, piece)
	}
	if want := map[string]int64{"clicks.string": 2, "impressions.fraction": 3}; !maps.Equal(d.UnreadForms, want) {
		t.Errorf("forms of several rows: %v, want %v", d.UnreadForms, want)
	}
	without, err := service.Default().With([]byte("report.columns: [campaign_id, creative_id, source_id, total_spend]"))
	if err != nil {
		t.Fatal(err)
	}
	c := run
	c.Service = without
	d = NewDayRows(c, NewInterner())
	l := sample()
	l.Clicks, l.Impressions, l.Conversions = nil, nil, nil
	if _, err := d.Add(page(l)); err != nil || d.Unread != 0 || !d.NoClicks {
		t.Errorf("columns that are not asked for: %+v, %v", d, err)
	}
}
