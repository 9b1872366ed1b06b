package schema

// Intraday is the spend of one campaign on an open day, from midnight to the time of one read.
type Intraday struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true"`
	// Chicago calendar day, which was not over at this read.
	ReportDate Date `col:"report_date" id:"2" key:"true"`
	// When the read began.
	SeenAt Instant `col:"seen_at" id:"3" key:"true"`
	// Campaign of the spend.
	CampaignID string `col:"campaign_id" id:"4" key:"true"`
	// US dollars from the start of the day up to this read. A running total, so do not add it up over reads.
	Spend Money `col:"spend" id:"5"`
	// Clicks up to this read. NULL: some row with spend lacked the number.
	Clicks Null[int64] `col:"clicks" id:"6"`
	// Impressions up to this read. NULL: some row with spend lacked the number.
	Impressions Null[int64] `col:"impressions" id:"7"`
	// Conversions up to this read. NULL: some row with spend lacked the number.
	Conversions Null[int64] `col:"conversions" id:"8"`
	// Run that made the read.
	RunID string `col:"_run_id" id:"9"`
}

// SpendIntraday holds how much each campaign had spent at each read of a day that was not over. The service keeps no
// history of that.
var SpendIntraday = Define[Intraday]("spend_intraday", ByDay,
	"Raw: each line has all that was spent since midnight, so lines are not to be added up. What each "+
		"campaign had spent at each proven read of a day that was not over. A read that found the day as it "+
		"was before has no lines. "+
		"The first lines of a day hold all since midnight, and what came after its last read is in spend_daily alone.")

// IntradayOf adds up the rows of an open day by campaign. The rows must be in key order. The sum of a count is NULL if
// a row with spend lacks the count. A row without spend that lacks the count adds 0.
func IntradayOf(rows *SpendRows, seen Instant, run string) (lines []Intraday) {
	for _, r := range rows.All() {
		if n := len(lines); n == 0 || lines[n-1].CampaignID != r.CampaignID {
			lines = append(lines, Intraday{
				AccountID: r.AccountID, ReportDate: r.ReportDate, SeenAt: seen, CampaignID: r.CampaignID,
				Clicks: Some[int64](0), Impressions: Some[int64](0), Conversions: Some[int64](0), RunID: run,
			})
		}
		l := &lines[len(lines)-1]
		l.Spend += r.Spend
		addCount(&l.Clicks, r.Clicks, r)
		addCount(&l.Impressions, r.Impressions, r)
		addCount(&l.Conversions, r.Conversions, r)
	}
	return lines
}

func addCount(sum *Null[int64], n Null[int64], of *Spend) {
	switch {
	case !n.Valid && of.Spend != 0:
		*sum = Null[int64]{}
	case sum.Valid:
		sum.V += n.V
	}
}
