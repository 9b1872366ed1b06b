package report

import (
	"strconv"

	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/market"
	"spendsync/extract/adsim/money"
	"spendsync/extract/adsim/tree"
)

// column is a column of the report. It has a text, null for an empty one, or appends a number.
type column struct {
	name        string
	ofCreatives bool // only with include_creatives
	text        func(w *rowWriter, r *ledger.Row) string
	number      func(dst []byte, r *ledger.Row) []byte
}

var columns = []column{
	{name: "date", text: func(_ *rowWriter, r *ledger.Row) string { return r.Day.String() }},
	{name: "campaign_id", text: func(_ *rowWriter, r *ledger.Row) string { return r.Campaign.ID }},
	{name: "campaign_name", text: func(w *rowWriter, r *ledger.Row) string { return w.st.NameOf(r) }},
	{name: "creative_id", text: func(_ *rowWriter, r *ledger.Row) string { return r.Creative.ID }},
	ofShown("creative_title", func(cr *ledger.CreativeNow) string { return cr.Title }),
	ofShown("creative_message", func(cr *ledger.CreativeNow) string { return cr.Message }),
	ofShown("creative_image_url", func(cr *ledger.CreativeNow) string { return imageURL(cr.ImageID) }),
	ofShown("creative_icon_url", func(cr *ledger.CreativeNow) string { return imageURL(cr.IconID) }),
	ofShown("creative_status", func(cr *ledger.CreativeNow) string { return cr.Status }),
	{name: "source_id", text: func(w *rowWriter, r *ledger.Row) string { return w.st.SourceOf(r) }},
	{name: "total_spend", number: func(dst []byte, r *ledger.Row) []byte { return money.Append(dst, r.Spend) }},
	count("clicks", false, func(r *ledger.Row) int64 { return r.Clicks }),
	count("impressions", true, func(r *ledger.Row) int64 { return r.Impressions }),
	count("conversions", true, func(r *ledger.Row) int64 { return r.Conversions }),
	ratio("ctr", func(r *ledger.Row) (float64, int64) { return float64(r.Clicks), r.Impressions }),
	ratio("cpc", func(r *ledger.Row) (float64, int64) { return float64(r.Spend) / 1e6, r.Clicks }),
	ratio("cpa", func(r *ledger.Row) (float64, int64) { return float64(r.Spend) / 1e6, r.Conversions }),
}

// The default columns of the two modes, in the description's order.
const (
	plainColumns    = "date,campaign_id,campaign_name,creative_id,source_id,total_spend"
	creativeColumns = "date,campaign_id,campaign_name,creative_id,creative_title,creative_message,creative_image_url," +
		"creative_icon_url,creative_status,source_id,total_spend,impressions,conversions,ctr,cpc,cpa"
)

func ofShown(name string, of func(cr *ledger.CreativeNow) string) column {
	return column{name: name, ofCreatives: true, text: func(w *rowWriter, _ *ledger.Row) string { return of(&w.shown) }}
}

func count(name string, ofCreatives bool, of func(r *ledger.Row) int64) column {
	return column{name: name, ofCreatives: ofCreatives, number: func(dst []byte, r *ledger.Row) []byte {
		return strconv.AppendInt(dst, of(r), 10)
	}}
}

// ratio is computed in floats, and null if it is one of nothing.
func ratio(name string, of func(r *ledger.Row) (float64, int64)) column {
	return column{name: name, ofCreatives: true, number: func(dst []byte, r *ledger.Row) []byte {
		a, b := of(r)
		if b == 0 {
			return append(dst, "null"...)
		}
		return strconv.AppendFloat(dst, a/float64(b), 'g', -1, 64)
	}}
}

// rowWriter writes rows as JSON objects of the columns asked for.
type rowWriter struct {
	columns []*column
	st      *ledger.State
	quoted  map[string][]byte // texts as JSON
	last    *market.Creative  // of the row before
	shown   ledger.CreativeNow
}

// appendRow appends one row. The first comma becomes the brace.
func (w *rowWriter) appendRow(dst []byte, r *ledger.Row) []byte {
	start := len(dst)
	if r.Creative != nil && r.Creative != w.last {
		w.last, w.shown = r.Creative, w.st.Generated(r.Creative)
		if w.st.Follows(r) {
			w.shown = w.st.CreativeNow(r.Creative)
		}
	}
	for _, c := range w.columns {
		dst = append(append(append(dst, `,"`...), c.name...), `":`...)
		if c.number != nil {
			dst = c.number(dst, r)
		} else {
			dst = w.appendText(dst, c.text(w, r))
		}
	}
	dst[start] = '{'
	return append(dst, '}')
}

// appendText appends a text; null for an empty one.
func (w *rowWriter) appendText(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	q := w.quoted[s]
	if q == nil {
		q = tree.Marshal(s)
		w.quoted[s] = q
	}
	return append(dst, q...)
}

// imageURL is where an image lies, "" without an image.
func imageURL(id string) string {
	if id == "" {
		return ""
	}
	return "https://img.example/" + id + ".png"
}
