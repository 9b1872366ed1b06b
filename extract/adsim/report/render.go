package report

import (
	"cmp"
	"encoding/json"
	"strconv"

	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/market"
	"spendsync/extract/adsim/money"
	"spendsync/extract/adsim/tree"
	"spendsync/extract/adsim/wire"
)

// column is a column of the report.
type column uint8

const (
	colDate column = iota
	colCampaignID
	colCampaignName
	colCreativeID
	colCreativeTitle
	colCreativeMessage
	colCreativeImageURL
	colCreativeIconURL
	colCreativeStatus
	colSourceID
	colTotalSpend
	colClicks
	colImpressions
	colConversions
	colCTR
	colCPC
	colCPA
)

var columnNames = [...]string{
	"date", "campaign_id", "campaign_name", "creative_id", "creative_title", "creative_message",
	"creative_image_url", "creative_icon_url", "creative_status", "source_id", "total_spend",
	"clicks", "impressions", "conversions", "ctr", "cpc", "cpa",
}

// The default columns of the two modes, in the description's order.
var (
	plainColumns    = []column{colDate, colCampaignID, colCampaignName, colCreativeID, colSourceID, colTotalSpend}
	creativeColumns = []column{
		colDate, colCampaignID, colCampaignName, colCreativeID, colCreativeTitle, colCreativeMessage,
		colCreativeImageURL, colCreativeIconURL, colCreativeStatus, colSourceID, colTotalSpend,
		colImpressions, colConversions, colCTR, colCPC, colCPA,
	}
)

// ofCreatives reports whether the column is only there with include_creatives.
func (c column) ofCreatives() bool {
	switch c {
	case colCreativeTitle, colCreativeMessage, colCreativeImageURL, colCreativeIconURL, colCreativeStatus,
		colImpressions, colConversions, colCTR, colCPC, colCPA:
		return true
	}
	return false
}

// rowWriter writes rows as JSON objects of the columns asked for.
type rowWriter struct {
	columns []column
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
		dst = append(append(append(dst, `,"`...), columnNames[c]...), `":`...)
		dst = w.appendColumn(dst, c, r)
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

// appendColumn appends the value of one column.
func (w *rowWriter) appendColumn(dst []byte, c column, r *ledger.Row) []byte {
	switch c {
	case colDate:
		return append(append(append(dst, '"'), r.Day.String()...), '"')
	case colCampaignID:
		return w.appendText(dst, r.Campaign.ID)
	case colCampaignName:
		return w.appendText(dst, w.st.NameOf(r))
	case colCreativeID:
		return w.appendText(dst, r.Creative.ID)
	case colCreativeTitle:
		return w.appendText(dst, w.shown.Title)
	case colCreativeMessage:
		return w.appendText(dst, w.shown.Message)
	case colCreativeImageURL:
		return w.appendText(dst, imageURL(w.shown.ImageID))
	case colCreativeIconURL:
		return w.appendText(dst, imageURL(w.shown.IconID))
	case colCreativeStatus:
		return w.appendText(dst, w.shown.Status)
	case colSourceID:
		if r.Source == ledger.NoSource {
			return append(dst, "null"...)
		}
		return w.appendText(dst, w.st.Account.Sources.IDs[r.Source])
	case colTotalSpend:
		return money.Append(dst, r.Spend)
	case colClicks:
		return strconv.AppendInt(dst, r.Clicks, 10)
	case colImpressions:
		return strconv.AppendInt(dst, r.Impressions, 10)
	case colConversions:
		return strconv.AppendInt(dst, r.Conversions, 10)
	case colCTR:
		return appendRatio(dst, float64(r.Clicks), float64(r.Impressions))
	case colCPC:
		return appendRatio(dst, float64(r.Spend)/1e6, float64(r.Clicks))
	}
	return appendRatio(dst, float64(r.Spend)/1e6, float64(r.Conversions))
}

// imageURL is where an image lies, "" without an image.
func imageURL(id string) string {
	if id == "" {
		return ""
	}
	return "https://img.example/" + id + ".png"
}

// appendHurtRow appends a row that a fault has changed.
func (w *rowWriter) appendHurtRow(dst []byte, r *ledger.Row, f *wire.Fault) []byte {
	in := *f
	if in.Kind == wire.OtherDay {
		in.Kind, in.Column = wire.WrongType, "date"
		in.Value = string(tree.Marshal(cmp.Or(f.Value, (r.Day - 1).String())))
	}
	return in.Entry(json.RawMessage(w.appendRow(nil, r)), true).Append(dst)
}

// appendRatio appends a/b computed in floats, or null if b is 0.
func appendRatio(dst []byte, a, b float64) []byte {
	if b == 0 {
		return append(dst, "null"...)
	}
	return strconv.AppendFloat(dst, a/b, 'g', -1, 64)
}
