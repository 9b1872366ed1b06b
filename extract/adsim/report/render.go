package report

import (
	"cmp"
	"encoding/json"
	"strconv"

	"spendsync/extract/adsim/clock"
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
	keys    [][]byte // `,"date":`
	fixed   int      // number of leading columns that are the same for all rows of a creative and day
	st      *ledger.State
	sources *market.Sources
	today   clock.Day

	// What the leading columns of the row before looked like.
	prefix         []byte
	prefixDay      clock.Day
	prefixCampaign *market.Campaign
	prefixCreative *market.Creative
	dates          map[clock.Day][]byte
}

func newRowWriter(columns []column, st *ledger.State) *rowWriter {
	w := &rowWriter{columns: columns, st: st, sources: st.Account.Sources, today: st.Today,
		dates: map[clock.Day][]byte{}}
	for _, c := range columns {
		w.keys = append(w.keys, []byte(`,"`+columnNames[c]+`":`))
	}
	for w.fixed < len(columns) && columns[w.fixed] <= colCreativeStatus {
		w.fixed++
	}
	return w
}

// appendRow appends one row. The first comma becomes the brace.
func (w *rowWriter) appendRow(dst []byte, r *ledger.Row) []byte {
	start := len(dst)
	if r.Day != w.prefixDay || r.Creative != w.prefixCreative || r.Campaign != w.prefixCampaign || w.prefix == nil {
		w.prefix = w.prefix[:0]
		for i, c := range w.columns[:w.fixed] {
			w.prefix = w.appendColumn(append(w.prefix, w.keys[i]...), c, r)
		}
		w.prefixDay, w.prefixCreative, w.prefixCampaign = r.Day, r.Creative, r.Campaign
	}
	dst = append(dst, w.prefix...)
	for i := w.fixed; i < len(w.columns); i++ {
		dst = w.appendColumn(append(dst, w.keys[i]...), w.columns[i], r)
	}
	dst[start] = '{'
	return append(dst, '}')
}

// appendColumn appends the value of one column.
func (w *rowWriter) appendColumn(dst []byte, c column, r *ledger.Row) []byte {
	if c != colCreativeID && c >= colCampaignName && c <= colCreativeStatus && w.st.Follows(r) {
		return w.appendFollowed(dst, c, r)
	}
	switch c {
	case colDate:
		d := w.dates[r.Day]
		if d == nil {
			d = tree.Marshal(r.Day.String())
			w.dates[r.Day] = d
		}
		return append(dst, d...)
	case colCampaignID:
		return append(dst, r.Campaign.IDJSON...)
	case colCampaignName:
		return append(dst, r.Campaign.NameJSON...)
	case colCreativeID:
		return append(dst, r.Creative.IDJSON...)
	case colCreativeTitle:
		return append(dst, r.Creative.TitleJSON...)
	case colCreativeMessage:
		return append(dst, r.Creative.MessageJSON...)
	case colCreativeImageURL:
		return append(dst, r.Creative.ImageJSON...)
	case colCreativeIconURL:
		return append(dst, r.Creative.IconJSON...)
	case colCreativeStatus:
		dst = append(dst, '"')
		dst = append(dst, r.Creative.Status(w.today)...)
		return append(dst, '"')
	case colSourceID:
		if r.Source != ledger.NoSource {
			return append(dst, w.sources.Quoted[r.Source]...)
		}
		return append(dst, "null"...)
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
	case colCPA:
		return appendRatio(dst, float64(r.Spend)/1e6, float64(r.Conversions))
	}
	return append(dst, "null"...)
}

// appendFollowed appends the current name, text or status of a campaign that was changed through
// the API.
func (w *rowWriter) appendFollowed(dst []byte, c column, r *ledger.Row) []byte {
	if c == colCampaignName {
		return append(dst, tree.Marshal(ledger.Or(w.st.Changes.Campaign(r.Campaign.ID).Name, r.Campaign.Name))...)
	}
	now := w.st.CreativeNow(r.Creative)
	switch c {
	case colCreativeTitle:
		return append(dst, tree.Marshal(now.Title)...)
	case colCreativeMessage:
		return append(dst, tree.Marshal(now.Message)...)
	case colCreativeImageURL:
		return append(dst, market.ImageURL(now.ImageID)...)
	case colCreativeIconURL:
		return append(dst, market.ImageURL(now.IconID)...)
	}
	return append(dst, tree.Marshal(now.Status)...)
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
