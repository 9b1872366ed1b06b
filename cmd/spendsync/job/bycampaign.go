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

// campaignIDs has, by campaign ID, the IDs of the campaign's creatives.
type campaignIDs map[string]map[string]bool

func (k campaignIDs) add(rows *schema.SpendRows) {
	for _, row := range rows.All() {
		k.addRow(row)
	}
}

func (k campaignIDs) addRow(row *schema.Spend) {
	creatives := k[row.CampaignID]
	if creatives == nil {
		creatives = map[string]bool{}
		k[strings.Clone(row.CampaignID)] = creatives
	}
	if !creatives[row.CreativeID] {
		creatives[strings.Clone(row.CreativeID)] = true
	}
}

// byCampaign reads a day campaign by campaign, so that the result does not depend on the order of pages. It first asks
// for the campaigns of the stored day and of this run's earlier reads. If rows are still missing, it also asks for the
// campaigns in the API key's list. The pages of each campaign are proven like the pages of an entire day, and rows of
// other campaigns are dropped. The last read of the entire day is passed as whole; the new replies are staged after the
// replies of that read.
func (r *dayReader) byCampaign(ctx context.Context, with comparison, whole *dayRead, work *dayWork) (*dayRead, error) {
	for rows, err := range r.s.store.StoredDay(with.day) {
		if err != nil {
			return nil, err
		}
		for i := range rows {
			work.ids.addRow(&rows[i])
		}
	}
	read := r.begin(with.day, work)
	read.evidence.Total = whole.evidence.Total
	err := r.untilComplete(read, whole.evidence.Total, func(id string) error {
		return r.addCampaign(ctx, with, id, read, whole.Pages, work)
	}, func() []string { return slices.Collect(maps.Keys(work.ids)) },
		func() []string { return r.key.wait().listed() })
	if err == nil {
		err = read.seal()
	}
	if err == nil {
		err = r.checkTotal(ctx, with.day, read)
	}
	return read, err
}

// untilComplete calls a function once for each ID in the lists. If the expected number of rows is reached after a list,
// the next lists are not used. Rows without an ID cannot be requested.
func (r *dayReader) untilComplete(read *dayRead, all int64, add func(id string) error,
	lists ...func() []string) error {
	asked, was := map[string]bool{}, read.received()
	for _, list := range lists {
		for _, id := range slices.Sorted(slices.Values(list())) {
			if read.hasNameless = read.hasNameless || id == ""; asked[id] || id == "" {
				continue
			}
			asked[id] = true
			if err := add(id); err != nil {
				return err
			}
		}
		if read.received()-was >= all {
			break
		}
	}
	return nil
}

// addCampaign adds the rows of a campaign. If a campaign has several pages, and they do not prove its rows, its
// creatives are read one by one: first the creatives seen in its rows and then, if rows are still missing, the
// creatives that the report lists.
func (r *dayReader) addCampaign(ctx context.Context, with comparison, id string, read *dayRead, before int,
	work *dayWork) error {
	whole, err := r.readPiece(ctx, with, schema.Piece{Campaign: id}, read, before, work)
	if err == nil {
		return nil
	} else if whole == nil || whole.Pages < 2 {
		return err
	}
	work.ids.add(whole.Rows)
	was := read.received()
	err = r.untilComplete(read, whole.evidence.Total, func(creative string) error {
		_, err := r.readPiece(ctx, with, schema.Piece{Campaign: id, Creative: creative}, read, before, work)
		return err
	}, func() []string { return slices.Collect(maps.Keys(work.ids[id])) },
		func() []string { return r.s.labels().creatives[id] })
	if got := read.received() - was; err == nil && with.service.CountsRows() && got != whole.evidence.Total {
		return whole.unproven(with, fmt.Sprintf("campaign %s: %d rows came creative by creative, and total_rows is %d",
			id, got, whole.evidence.Total))
	}
	return err
}

// readPiece reads the pages of one campaign or creative, and adds its rows to the read of the day if they are proven.
// It returns the read of the piece, or nil if its pages could not be read to the end.
func (r *dayReader) readPiece(
	ctx context.Context, with comparison, p schema.Piece, read *dayRead, before int, work *dayWork,
) (*dayRead, error) {
	walk := r.begin(with.day, work)
	before += read.Pages
	pages := r.s.Report.Spend(ctx, extract.SpendQuestion{Day: with.day, PageSize: r.s.Plan.PageSize,
		Campaign: p.Campaign, Creative: p.Creative}, &walk.evidence)
	err := walk.readPages(pages, work.replies, before)
	if err == nil {
		err = walk.seal()
	}
	if err != nil {
		return nil, err
	}
	walk.Control = schema.ControlMatched // only the day has a control total; it is compared after the last piece
	if why := walk.whyUnproven(with); why != "" {
		return walk, walk.unproven(with, "of "+cmp.Or(p.Creative, p.Campaign)+": "+why)
	}
	read.AddPiece(p, walk.DayRows)
	return walk, nil
}
