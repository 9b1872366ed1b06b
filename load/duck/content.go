package duck

import (
	"context"
	"database/sql"
	"fmt"

	"spendsync/load/history"
	"spendsync/schema"
)

// AccountDay identifies a day of an account.
type AccountDay struct {
	Account string
	Day     schema.Date
}

// Counts returns the number of a table's rows by account, and for spend_daily by account and day. With a single
// expected account, it compares the number of all rows with the number of that account's rows, because this is far
// cheaper than grouping by account. If the two numbers differ, Counts groups by account after all.
func (w *Warehouse) Counts(ctx context.Context, t *schema.Table, accounts []string) (map[AccountDay]int64, error) {
	uncounted := func(err error) error { return unread(err, "%s cannot be counted", t.FullName()) }
	account, day, condition := "account_id", "0", ""
	if t.Name == schema.SpendDaily.Name {
		day = "(report_date - DATE '1970-01-01')::BIGINT"
	}
	if len(accounts) == 1 {
		account = schema.QuoteText(accounts[0])
		condition = " WHERE account_id = " + account
	}
	counts := map[AccountDay]int64{}
	var k AccountDay
	var n, counted int64
	q := fmt.Sprintf("SELECT %s, %s, count(*) FROM %s GROUP BY ALL", account, day, t.SQLName())
	if err := scanRows(ctx, w.conn, q, func() error {
		counts[k] = n
		counted += n
		return nil
	}, &k.Account, &k.Day, &n); err != nil {
		return nil, uncounted(err)
	}
	if condition == "" {
		return counts, nil
	}
	var ofAccount int64
	if err := w.conn.QueryRowContext(ctx, "SELECT count(*) FROM "+t.SQLName()+condition).Scan(&ofAccount); err != nil {
		return nil, uncounted(err)
	}
	if ofAccount != counted {
		return w.Counts(ctx, t, nil)
	}
	return counts, nil
}

// Sums adds up the measures of a table by account and day, over the rows that meet a condition. The parameters account,
// rows and where are SQL expressions for the account, the number of rows and the condition.
func (w *Warehouse) Sums(ctx context.Context, t *schema.Table, account, rows,
	where string) (map[AccountDay]history.Sums, error) {
	// The sum of money is passed as text, which is exact.
	q := fmt.Sprintf(`SELECT %s, (report_date - DATE '1970-01-01')::BIGINT, %s, sum(spend)::VARCHAR,
		sum(clicks)::BIGINT, sum(impressions)::BIGINT, sum(conversions)::BIGINT
		FROM %s WHERE %s GROUP BY ALL`, account, rows, t.SQLName(), where)
	sums := map[AccountDay]history.Sums{}
	var k AccountDay
	var got history.Sums
	var spend string
	var clicks, impressions, conversions sql.Null[int64]
	if err := scanRows(ctx, w.conn, q, func() error {
		got.Clicks, got.Impressions, got.Conversions = schema.Null[int64](clicks), schema.Null[int64](impressions),
			schema.Null[int64](conversions)
		err := got.Spend.UnmarshalText([]byte(spend))
		sums[k] = got
		return err
	}, &k.Account, &k.Day, &got.Rows, &spend, &clicks, &impressions, &conversions); err != nil {
		return nil, unread(err, "%s cannot be summed", t.FullName())
	}
	return sums, nil
}

// RowsHash returns a hash of the given columns in all rows that a FROM clause yields. It adds up DuckDB's hashes of the
// rows, so the order of the rows does not matter.
func (w *Warehouse) RowsHash(ctx context.Context, columns, from string) (hash string, err error) {
	q := "SELECT coalesce(sum(hash(" + columns + ")::HUGEINT), 0)::VARCHAR FROM " + from
	err = w.WithMemory(ctx, func() error {
		if err := w.conn.QueryRowContext(ctx, q).Scan(&hash); err != nil {
			return duckErr(q, err)
		}
		return nil
	})
	return hash, err
}

// Unproven is an account without stored proof that its report and its API key belong to the same advertiser account.
type Unproven struct {
	Account   string `json:"account"`
	Days      int64  `json:"days"`      // unproven days of the report
	Campaigns int64  `json:"campaigns"` // campaigns of these days
	Example   string `json:"example"`   // one of these campaigns
}

// Unproven returns the accounts with unproven days of the report. A day is proven if a chain of shared days and
// campaigns connects the day to a campaign that the account's API has returned. All days are proven if the first run
// that stored rows recorded a proof of identity. A later run's proof does not count, because that proof may only repeat
// what the stored days show.
func (w *Warehouse) Unproven(ctx context.Context) (unproven []Unproven, err error) {
	report := schema.SpendDaily.Table
	proven := "AND account_id NOT IN (SELECT account_id FROM " + schema.Runs.SQLName() + ` WHERE published AND
		rows_inserted > 0 GROUP BY account_id HAVING arg_min(identity_proof IS NOT NULL, generation))`
	q := fmt.Sprintf(`WITH RECURSIVE reported AS (
			SELECT DISTINCT account_id, campaign_id, 'day ' || report_date AS day FROM %s WHERE campaign_id <> '' %s),
		edge AS (
			SELECT account_id, campaign_id AS near, day AS far FROM reported
			UNION ALL SELECT account_id, day, campaign_id FROM reported),
		proven AS (
			SELECT DISTINCT account_id, campaign_id AS node FROM %s WHERE read_state <> %s
			UNION SELECT edge.account_id, edge.far FROM proven JOIN edge
				ON edge.account_id = proven.account_id AND edge.near = proven.node)
		SELECT account_id, count(DISTINCT day), count(DISTINCT campaign_id), min(campaign_id)
		FROM reported ANTI JOIN proven ON proven.account_id = reported.account_id AND node = day
		GROUP BY account_id ORDER BY account_id`, report.SQLName(), proven, schema.CampaignHistory.SQLName(),
		schema.QuoteText(schema.ReadStub))
	var u Unproven
	if err := scanRows(ctx, w.conn, q, func() error {
		unproven = append(unproven, u)
		return nil
	}, &u.Account, &u.Days, &u.Campaigns, &u.Example); err != nil {
		return nil, duckErr(q, err)
	}
	return unproven, nil
}

// NewestRun returns the run that published the newest generation in the DuckDB file at path. The manifest need not name
// this file.
func NewestRun(ctx context.Context, path string, o Options) (run schema.Run, err error) {
	w, err := OpenPublished(ctx, path, o)
	if err != nil {
		return run, err
	}
	defer func() { err = w.Stop(err) }()
	const q = "SELECT generation, _run_id, epoch_us(finished_at) FROM w.ops.run WHERE published " +
		"ORDER BY ALL DESC LIMIT 1"
	if err := w.conn.QueryRowContext(ctx, q).Scan(&run.Generation, &run.RunID, &run.FinishedAt); err != nil {
		return run, duckErr(q, err)
	}
	return run, nil
}
