package report

import (
	"strconv"

	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/market"
	"spendsync/extract/adsim/money"
	"spendsync/extract/adsim/tree"
)

// column is a column of the report. Either text or number is set: text() returns the column's value in a row, and the
// report shows "" as null; number() appends the column's value as JSON.
type column struct {
	name        string
	ofCreatives bool // whether the column exists only with include_creatives
	text        func(w *rowWriter, r *ledger.Row) string
	number      func(dst []byte, r *ledger.Row) []byte
}

var columns = []column{
	{name: "date", text: func(_ *rowWriter, r *ledger.Row) string { return r.Day.String() }},
	{name: "campaign_id", text: func(_ *rowWriter, r *ledger.Row) string { return r.Campaign.ID }},
	{name: "campaign_name", text: func(w *rowWriter, r *ledger.Row) string { return w.st.NameOf(r) }},
	{name: "creative_id", text: func(_ *rowWriter, r *ledger.Row) string { return r.Creative.ID }},
	creativeText("creative_title", func(cr *ledger.CreativeNow) string { return cr.Title }),
	creativeText("creative_message", func(cr *ledger.CreativeNow) string { return cr.Message }),
	creativeText("creative_image_url", func(cr *ledger.CreativeNow) string { return imageURL(cr.ImageID) }),
	creativeText("creative_icon_url", func(cr *ledger.CreativeNow) string { return imageURL(cr.IconID) }),
	creativeText("creative_status", func(cr *ledger.CreativeNow) string { return cr.Status }),
	{name: "source_id", text: func(w *rowWriter, r *ledger.Row) string { return w.st.SourceOf(r) }},
	{name: "total_spend", number: func(dst []byte, r *ledger.Row) []byte { return money.Append(dst, r.Spend) }},
	count("clicks", false, func(r *ledger.Row) int64 { return r.Clicks }),
	count("impressions", true, func(r *ledger.Row) int64 { return r.Impressions }),
	count("conversions", true, func(r *ledger.Row) int64 { return r.Conversions }),
	ratio("ctr", func(r *ledger.Row) (float64, int64) { return float64(r.Clicks), r.Impressions }),
	ratio("cpc", func(r *ledger.Row) (float64, int64) { return float64(r.Spend) / 1e6, r.Clicks }),
	ratio("cpa", func(r *ledger.Row) (float64, int64) { return float64(r.Spend) / 1e6, r.Conversions }),
}

// The columns of a request that names no columns, without and with include_creatives, in the description's order.
const (
	plainColumns    = "date,campaign_id,campaign_name,creative_id,source_id,total_spend"
	creativeColumns = "date,campaign_id,campaign_name,creative_id,creative_title,creative_message,creative_image_url," +
		"creative_icon_url,creative_status,source_id,total_spend,impressions,conversions,ctr,cpc,cpa"
)

func creativeText(name string, value func(cr *ledger.CreativeNow) string) column {
	return column{name: name, ofCreatives: true,
		text: func(w *rowWriter, _ *ledger.Row) string { return value(&w.creative) }}
}

func count(name string, ofCreatives bool, value func(r *ledger.Row) int64) column {
	return column{name: name, ofCreatives: ofCreatives, number: func(dst []byte, r *ledger.Row) []byte {
		return strconv.AppendInt(dst, value(r), 10)
	}}
}

// ratio returns a column whose value is the quotient of two numbers, or null if the denominator is 0.
func ratio(name string, parts func(r *ledger.Row) (numerator float64, denominator int64)) column {
	return column{name: name, ofCreatives: true, number: func(dst []byte, r *ledger.Row) []byte {
		numerator, denominator := parts(r)
		if denominator == 0 {
			return append(dst, "null"...)
		}
		return strconv.AppendFloat(dst, numerator/float64(denominator), 'g', -1, 64)
	}}
}

// rowWriter writes rows as JSON objects of the requested columns.
type rowWriter struct {
	columns  []*column
	st       *ledger.State
	quoted   map[string][]byte  // the JSON of every text that was written, as a cache
	last     *market.Creative   // creative of the previous row
	creative ledger.CreativeNow // settings of the previous row's creative, as the report shows them
}

// appendRow appends one row as JSON. It writes a comma before each column, and then replaces the first comma by the
// opening brace.
func (w *rowWriter) appendRow(dst []byte, r *ledger.Row) []byte {
	start := len(dst)
	if r.Creative != nil && r.Creative != w.last {
		w.last, w.creative = r.Creative, w.st.Generated(r.Creative)
		if w.st.Follows(r) {
			w.creative = w.st.CreativeNow(r.Creative)
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

// appendText appends a text as JSON; an empty text becomes null.
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

// imageURL returns the URL of an image, or "" for an empty ID.
func imageURL(id string) string {
	if id == "" {
		return ""
	}
	return "https://img.example/" + id + ".png"
}
