package adsim

import (
	"slices"
	"strconv"
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

// ofCreatives says whether the column is only there with include_creatives.
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
	fixed   int      // so many leading columns are the same for all rows of a creative and day
	st      *state
	sources *sourceTable
	today   day
	noise   bool
	zero    ZeroSpend

	// What the leading columns of the row before looked like.
	prefix         []byte
	prefixDay      day
	prefixCampaign *campaign
	prefixCreative *creative
	dates          map[day][]byte
}

func newRowWriter(columns []column, st *state) *rowWriter {
	w := &rowWriter{columns: columns, st: st, sources: st.account.sources, today: st.today,
		noise: st.cfg.FloatNoise, zero: st.cfg.ZeroSpend, dates: map[day][]byte{}}
	for _, c := range columns {
		w.keys = append(w.keys, []byte(`,"`+columnNames[c]+`":`))
	}
	for w.fixed < len(columns) && columns[w.fixed] <= colCreativeStatus {
		w.fixed++
	}
	return w
}

// appendRow appends one row. The first comma becomes the brace.
func (w *rowWriter) appendRow(dst []byte, r *row) []byte {
	start := len(dst)
	if r.source == noSource && w.zero >= ZeroSpendNoSource {
		for i, c := range w.columns {
			if r.creative != nil && (c == colSourceID || c == colDate && w.zero == ZeroSpendBare && w.asksSource()) {
				continue
			}
			dst = w.appendColumn(append(dst, w.keys[i]...), c, r)
		}
	} else {
		if r.day != w.prefixDay || r.creative != w.prefixCreative || r.campaign != w.prefixCampaign || w.prefix == nil {
			w.prefix = w.prefix[:0]
			for i, c := range w.columns[:w.fixed] {
				w.prefix = w.appendColumn(append(w.prefix, w.keys[i]...), c, r)
			}
			w.prefixDay, w.prefixCreative, w.prefixCampaign = r.day, r.creative, r.campaign
		}
		dst = append(dst, w.prefix...)
		for i := w.fixed; i < len(w.columns); i++ {
			dst = w.appendColumn(append(dst, w.keys[i]...), w.columns[i], r)
		}
	}
	if len(dst) == start {
		return append(dst, '{', '}')
	}
	dst[start] = '{'
	return append(dst, '}')
}

func (w *rowWriter) asksSource() bool { return slices.Contains(w.columns, colSourceID) }

// appendColumn appends the value of one column.
func (w *rowWriter) appendColumn(dst []byte, c column, r *row) []byte {
	if c != colCreativeID && c >= colCampaignName && c <= colCreativeStatus && w.st.follows(r) {
		return w.appendFollowed(dst, c, r)
	}
	switch c {
	case colDate:
		d := w.dates[r.day]
		if d == nil {
			d = appendString(nil, r.day.String(), false)
			w.dates[r.day] = d
		}
		return append(dst, d...)
	case colCampaignID:
		return append(dst, r.campaign.idJSON...)
	case colCampaignName:
		return append(dst, r.campaign.nameJSON...)
	case colCreativeID:
		return append(dst, r.creative.idJSON...)
	case colCreativeTitle:
		return append(dst, r.creative.titleJSON...)
	case colCreativeMessage:
		return append(dst, r.creative.messageJSON...)
	case colCreativeImageURL:
		return append(dst, r.creative.imageJSON...)
	case colCreativeIconURL:
		return append(dst, r.creative.iconJSON...)
	case colCreativeStatus:
		dst = append(dst, '"')
		dst = append(dst, r.creative.status(w.today)...)
		return append(dst, '"')
	case colSourceID:
		switch {
		case r.source != noSource:
			return append(dst, w.sources.quoted[r.source]...)
		case w.zero == ZeroSpendEmptySource:
			return append(dst, '"', '"')
		}
		return append(dst, "null"...)
	case colTotalSpend:
		if w.noise {
			return appendNoisy(dst, r.Spend, w.noiseOf(r))
		}
		return appendMillionths(dst, r.Spend)
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

// noiseOf decides about the digits behind the sixth, by what the row is about.
func (w *rowWriter) noiseOf(r *row) uint64 {
	key := uint64(r.day)
	if r.campaign != nil {
		key ^= r.campaign.key
	}
	if r.creative != nil {
		key ^= r.creative.key
	}
	return chance(key, aboutNoise, uint64(uint32(r.source)))
}

// appendFollowed appends a name, text or status of a campaign that was changed
// through the API: as it is now.
func (w *rowWriter) appendFollowed(dst []byte, c column, r *row) []byte {
	ascii := w.st.account.ascii
	if c == colCampaignName {
		return appendString(dst, or(w.st.changes.campaign(r.campaign.id).name, r.campaign.name), ascii)
	}
	now := w.st.creativeNow(r.creative)
	switch c {
	case colCreativeTitle:
		return appendString(dst, now.title, ascii)
	case colCreativeMessage:
		return appendString(dst, now.message, ascii)
	case colCreativeImageURL:
		return append(dst, imageURL(now.imageID)...)
	case colCreativeIconURL:
		return append(dst, imageURL(now.iconID)...)
	}
	return appendString(dst, now.status, ascii)
}
