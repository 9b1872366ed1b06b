package job

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"spendsync/extract"
	"spendsync/schema"
)

// knownIDs are campaigns with their creatives.
type knownIDs map[string]map[string]bool

// add adds those of some rows.
func (k *knownIDs) add(rows *schema.SpendRows) {
	for _, row := range rows.All() {
		k.addRow(row)
	}
}

func (k *knownIDs) addRow(row *schema.Spend) {
	if *k == nil {
		*k = knownIDs{}
	}
	creatives := (*k)[row.CampaignID]
	if creatives == nil {
		creatives = map[string]bool{}
		(*k)[strings.Clone(row.CampaignID)] = creatives
	}
	if !creatives[row.CreativeID] {
		creatives[strings.Clone(row.CreativeID)] = true
	}
}

// byCampaign reads a day campaign by campaign, which needs no order of pages: the campaigns of all reads of the run and
// of the stored day, and those of the key's list while the number falls short of the whole's. Each walk is proven like
// any other, and rows of other campaigns are dropped. The replies are staged behind those of the whole.
func (r *dayReader) byCampaign(ctx context.Context, b beside, whole *dayRead, work *dayWork) (*dayRead, error) {
	for rows, err := range r.s.store.StoredDay(b.day) {
		if err != nil {
			return nil, err
		}
		for i := range rows {
			work.seen.addRow(&rows[i])
		}
	}
	read := r.begin(b.day, work)
	read.seen.Total = whole.seen.Total
	err := r.untilComplete(read, whole.seen.Total, func(id string) error {
		return r.addCampaign(ctx, b, id, read, whole.Pages, work)
	}, func() []string { return slices.Collect(maps.Keys(work.seen)) },
		func() []string { return r.key.wait().listed() })
	if err == nil {
		err = read.seal()
	}
	if err == nil {
		err = r.checkTotal(ctx, b.day, read)
	}
	return read, err
}

// untilComplete calls add once for each ID in the lists. It starts the next list only if fewer rows than all have come.
func (r *dayReader) untilComplete(read *dayRead, all int64, add func(id string) error,
	lists ...func() []string) error {
	asked, was := map[string]bool{}, read.came()
	for _, list := range lists {
		for _, id := range slices.Sorted(slices.Values(list())) {
			if asked[id] || !extract.IsID(id) {
				continue
			}
			asked[id] = true
			if err := add(id); err != nil {
				return err
			}
		}
		if read.came()-was >= all {
			break
		}
	}
	return nil
}

// addCampaign adds the rows of a campaign. One of several pages that does not add up goes on by creatives: those
// that were seen of it, and those of the report's list while the number falls short.
func (r *dayReader) addCampaign(ctx context.Context, b beside, id string, read *dayRead, before int,
	work *dayWork) error {
	whole, err := r.readPiece(ctx, b, schema.Piece{Campaign: id}, read, before, work)
	if err == nil {
		return nil
	} else if whole == nil || whole.Pages < 2 {
		return err
	}
	work.seen.add(whole.Rows)
	was := read.came()
	err = r.untilComplete(read, whole.seen.Total, func(creative string) error {
		_, err := r.readPiece(ctx, b, schema.Piece{Campaign: id, Creative: creative}, read, before, work)
		return err
	}, func() []string { return slices.Collect(maps.Keys(work.seen[id])) },
		func() []string { return r.s.labels().of[id] })
	if got := read.came() - was; err == nil && b.service.CountsRows() && got != whole.seen.Total &&
		!hasOthers(whole.Rows, id) {
		return whole.unproven(b, fmt.Sprintf("campaign %s: %d rows came creative by creative, and total_rows is %d",
			id, got, whole.seen.Total))
	}
	return err
}

// hasOthers reports whether there is a row of another campaign: the stated number counts it, too.
func hasOthers(rows *schema.SpendRows, campaign string) bool {
	for _, row := range rows.All() {
		if row.CampaignID != campaign {
			return true
		}
	}
	return false
}

// readPiece reads the pages of one campaign or creative and adds its rows, if they are proven. The walk is nil if it
// broke off.
func (r *dayReader) readPiece(
	ctx context.Context, b beside, p schema.Piece, read *dayRead, before int, work *dayWork,
) (*dayRead, error) {
	walk := r.begin(b.day, work)
	before += read.Pages
	pages := r.s.Report.Spend(ctx, extract.SpendQuestion{Day: b.day, PageSize: r.s.Plan.PageSize, Campaign: p.Campaign,
		Creative: p.Creative}, &walk.seen)
	err := walk.readPages(pages, work.replies, before)
	if err == nil {
		err = walk.seal()
	}
	if err != nil {
		return nil, err
	}
	walk.Control = schema.ControlMatched // the sum of the day is compared with all pieces
	if why := walk.against(b); why != "" {
		return walk, walk.unproven(b, "of "+cmp.Or(p.Creative, p.Campaign)+": "+why)
	}
	read.AddPiece(p, walk.DayRows)
	return walk, nil
}
