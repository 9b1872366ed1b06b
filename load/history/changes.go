package history

import (
	"cmp"

	"spendsync/schema"
)

// ReadTime records when a day was read, and by which run.
type ReadTime struct {
	At    schema.Instant
	RunID string
}

// restatement returns a row of spend_change, made of the stored row and the row as read. For a new row, the first
// argument is nil. For a row that is no longer in the report, the second one is nil.
func (by ReadTime) restatement(stored, read *schema.Spend) schema.SpendChange {
	row := cmp.Or(read, stored)
	l := schema.SpendChange{AccountID: row.AccountID, ReportDate: row.ReportDate, CampaignID: row.CampaignID,
		CreativeID: row.CreativeID, SourceID: row.SourceID, SeenAt: by.At, RunID: by.RunID}
	l.SetNumbers(stored, read)
	return l
}

// CompareChanges orders rows of spend_change by their key, as in the files of that table.
func CompareChanges(a, b schema.SpendChange) int {
	if a.ReportDate != b.ReportDate {
		return int(a.ReportDate - b.ReportDate)
	}
	ka := schema.Spend{CampaignID: a.CampaignID, CreativeID: a.CreativeID, SourceID: a.SourceID}
	kb := schema.Spend{CampaignID: b.CampaignID, CreativeID: b.CreativeID, SourceID: b.SourceID}
	return cmp.Or(CompareKeys(&ka, &kb), cmp.Compare(a.SeenAt, b.SeenAt), cmp.Compare(a.RunID, b.RunID))
}
