package market

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"spendsync/queries"
	"spendsync/schema"
)

// Questions is the policy of this project. It blocks the sources that source_block_candidates names, and unblocks the
// sources that source_scale_candidates names as acquitted. It runs the SQL of these models.
type Questions struct {
	db      *sql.DB
	answers []queries.Query // the models that the policy needs, each computed once a morning, in this order
	world   *World          // the world whose mornings are stored
	day     int             // number of stored days
	seen    int             // number of stored changes
	// The morning since which a pair is blocked.
	blockedOn map[int]int
	Err       error
}

// asked are the models whose advice the policy follows, each with a condition on the verdict.
var asked = map[string]string{"source_block_candidates": "IS NOT NULL", "source_scale_candidates": "= 'acquitted'"}

// zero is the first Chicago day of every world.
const zero = schema.Date(20600) // 2026-05-27

const account = "acme"

// NewQuestions opens an empty database with all tables and views. Every morning computes the named models; without
// names, the models in asked.
func NewQuestions(ctx context.Context, named ...string) (*Questions, error) {
	if named == nil {
		named = slices.Sorted(maps.Keys(asked))
	}
	db, err := sql.Open("duckdb", "?threads=1")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	q := &Questions{db: db}
	q.exec(ctx, "CREATE SCHEMA ops; CREATE SCHEMA int; CREATE SCHEMA mart")
	for _, t := range schema.Tables {
		q.exec(ctx, strings.Join(t.CreateSQL(), ";\n"))
	}
	var days []string
	for _, d := range schema.CalendarDays(account, "r1", 2026, 2027) {
		days = append(days, fmt.Sprintf("('%s', '%s', '%s', '%s', %d, %t, make_timestamptz(%d), "+
			"make_timestamptz(%d), %d, 'r1')", account, d.ReportDate, d.Month, d.ISOWeek, d.DayOfWeek,
			d.IsWeekend, d.StartsAt, d.EndsAt, d.Hours))
	}
	q.exec(ctx, "INSERT INTO main.calendar VALUES "+strings.Join(days, ", "))
	views := queries.Views(nil)
	q.answers = under(views, named)
	for _, v := range views {
		kind, body := "VIEW", "AS "
		switch {
		case v.IsValue:
			kind, body = "MACRO", "("+v.Parameters+") AS "
		case v.Parameters != "":
			kind, body = "MACRO", "("+v.Parameters+") AS TABLE "
		case slices.ContainsFunc(q.answers, func(a queries.Query) bool { return a.Name == v.Name }):
			kind = "TABLE"
		}
		q.exec(ctx, fmt.Sprintf("CREATE %s %s.%s %s%s", kind, v.Schema, v.Name, body, v.SQL))
	}
	return q, q.Err
}

// martName matches the name of a model of mart or int, or a text, which may contain such a name.
var martName = regexp.MustCompile(`'[^']*'|(?:mart|int)\.([a-z_]+)`)

// under returns the named models and all models that they read, each after the models that it reads. As a table, a
// model is planned and computed once a morning. As a view, it would be computed once for each place that names it.
func under(views []queries.Query, named []string) (all []queries.Query) {
	wanted := map[string]bool{}
	for _, n := range named {
		wanted[n] = true
	}
	for _, v := range slices.Backward(views) {
		if v.Schema != "main" && v.Parameters == "" && wanted[v.Name] {
			all = append(all, v)
			for _, m := range martName.FindAllStringSubmatch(v.SQL, -1) {
				wanted[m[1]] = true
			}
		}
	}
	slices.Reverse(all)
	return all
}

// renew computes the models again.
func (q *Questions) renew(ctx context.Context) {
	for _, v := range q.answers {
		q.exec(ctx, fmt.Sprintf("CREATE OR REPLACE TABLE %s.%s AS %s", v.Schema, v.Name, v.SQL))
	}
}

// Close closes the database.
func (q *Questions) Close() error { return q.db.Close() }

func (q *Questions) exec(ctx context.Context, statement string) {
	if q.Err == nil {
		if _, err := q.db.ExecContext(ctx, statement); err != nil {
			q.Err = fmt.Errorf("%w\n%.300s", err, statement)
		}
	}
}

// Block stores the morning and follows the advice. After an error, which Err holds, Block blocks no further source.
func (q *Questions) Block(m *Morning) []bool {
	ctx := context.Background()
	q.Sync(ctx, m)
	named := map[[2]int]bool{}
	for view, verdict := range asked {
		for _, k := range q.keys(ctx, "SELECT campaign_id, source_id FROM mart."+view+" WHERE verdict "+verdict) {
			named[k] = view == "source_block_candidates"
		}
	}
	blocked := slices.Clone(m.Blocked)
	for i, p := range m.World.pairs {
		if is, ok := named[[2]int{p.campaign, p.source}]; ok {
			blocked[i] = is
		}
	}
	return blocked
}

func (q *Questions) keys(ctx context.Context, question string) (keys [][2]int) {
	if q.Err != nil {
		return nil
	}
	rows, err := q.db.QueryContext(ctx, question)
	if err != nil {
		q.Err = err
		return nil
	}
	defer rows.Close()
	for rows.Next() {
		var campaign, source string
		var k [2]int
		if q.Err = rows.Scan(&campaign, &source); q.Err == nil {
			_, q.Err = fmt.Sscanf(campaign+" "+source, "c%d s%d", &k[0], &k[1])
		}
		if q.Err != nil {
			return nil
		}
		keys = append(keys, k)
	}
	q.Err = errors.Join(q.Err, rows.Err())
	return keys
}

func at(day int) time.Time { return (zero + schema.Date(day)).Start().Add(12 * time.Hour) }

func date(day int) string { return (zero + schema.Date(day)).String() }

// Sync adds the numbers that are new since the last stored morning, as a run at noon would store them. For another
// world or an earlier morning, it begins with empty tables.
func (q *Questions) Sync(ctx context.Context, m *Morning) {
	w := m.World
	if w != q.world || m.Day <= q.day || len(m.changes) < q.seen {
		for _, t := range []string{"main.spend_daily", "main.spend_change", "main.campaign_history",
			"main.source_mode_history", "main.payout_history", "ops.step", "ops.run"} {
			q.exec(ctx, "DELETE FROM "+t)
		}
		q.world, q.day, q.seen, q.blockedOn = w, 0, 0, map[int]int{}
		q.settings(ctx, w)
		q.values(ctx, "ops.run", "published BOOLEAN", []string{"(true)"})
	}
	q.spend(ctx, m)
	q.changes(ctx, m)
	q.coverage(ctx, m)
	var blocked []string
	for i, is := range m.Blocked {
		if !is {
			delete(q.blockedOn, i)
			continue
		}
		if _, ok := q.blockedOn[i]; !ok {
			q.blockedOn[i] = m.Day
		}
		blocked = append(blocked, fmt.Sprintf("('c%02d', 's%03d', 'blocked', make_timestamptz(%d))",
			w.pairs[i].campaign, w.pairs[i].source, at(q.blockedOn[i]).UnixMicro()))
	}
	q.exec(ctx, "DELETE FROM main.source_rule_history")
	q.values(ctx, "main.source_rule_history", "campaign_id VARCHAR, source_id VARCHAR, rule VARCHAR, "+
		"valid_from TIMESTAMPTZ", blocked)
	q.exec(ctx, "DELETE FROM int.campaign_spend; INSERT INTO int.campaign_spend "+schema.CampaignSpendSQL("true"))
	q.day, q.seen = m.Day, len(m.changes)
	q.renew(ctx)
}

// spend adds the days since the last morning.
func (q *Questions) spend(ctx context.Context, m *Morning) {
	var rows [][]driver.Value
	for i, p := range m.World.pairs {
		for d := q.day; d < m.Day; d++ {
			if spend := m.Spend[i][d]; spend > 0 {
				clicks := int64(math.Ceil(spend / 0.25))
				rows = append(rows, []driver.Value{date(d), fmt.Sprintf("c%02d", p.campaign),
					fmt.Sprintf("s%03d", p.source), spend, clicks, clicks * 50, m.Told[i][d]})
			}
		}
	}
	q.load(ctx, "report_date VARCHAR, campaign_id VARCHAR, source_id VARCHAR, spend DOUBLE, clicks BIGINT, "+
		"impressions BIGINT, conversions BIGINT", rows, `INSERT INTO main.spend_daily BY NAME SELECT l.* REPLACE (
		l.report_date::DATE AS report_date), 'acme' AS account_id, 'k' AS creative_id, 'Campaign' AS campaign_name,
		make_timestamptz(0) AS _first_seen_at, make_timestamptz(0) AS _changed_at, 'r1' AS _run_id FROM loaded AS l`)
}

// changes adds the changes since the last morning, and updates the changed rows.
func (q *Questions) changes(ctx context.Context, m *Morning) {
	var rows [][]driver.Value
	for _, c := range m.changes[q.seen:] {
		p := m.World.pairs[c.pair]
		rows = append(rows, []driver.Value{date(c.day), fmt.Sprintf("c%02d", p.campaign),
			fmt.Sprintf("s%03d", p.source), at(c.seen).UnixMicro(), m.Spend[c.pair][c.day], c.before, c.after})
	}
	q.load(ctx, "report_date VARCHAR, campaign_id VARCHAR, source_id VARCHAR, seen BIGINT, spend DOUBLE, "+
		"old_conversions BIGINT, new_conversions BIGINT", rows, `INSERT INTO main.spend_change BY NAME SELECT 'acme' AS
		account_id, l.report_date::DATE AS report_date, l.campaign_id, 'k' AS creative_id, l.source_id,
		make_timestamptz(l.seen) AS seen_at, 'update' AS op, l.spend AS old_spend, l.spend AS new_spend,
		l.old_conversions, l.new_conversions, 'r1' AS _run_id FROM loaded AS l`)
	q.exec(ctx, `UPDATE main.spend_daily AS s SET conversions = c.conversions FROM (
		SELECT l.report_date::DATE AS report_date, l.campaign_id, l.source_id, max(l.new_conversions) AS conversions
		FROM loaded AS l GROUP BY ALL) AS c
		WHERE s.report_date = c.report_date AND s.campaign_id = c.campaign_id AND s.source_id = c.source_id`)
}

// coverage stores the coverage of each day, and adds the reads since the last morning.
func (q *Questions) coverage(ctx context.Context, m *Morning) {
	var coverage, steps []string
	for d := range m.Day {
		last := min(m.Day, d+int(schema.ReachDays))
		state := map[bool]string{true: schema.StateFinal, false: schema.StateComplete}[last < m.Day]
		coverage = append(coverage, fmt.Sprintf("('%s', '%s', make_timestamptz(%d), make_timestamptz(%d))",
			date(d), state, at(d+1).UnixMicro(), at(last).UnixMicro()))
		for morning := max(d, q.day) + 1; morning <= last; morning++ {
			steps = append(steps, fmt.Sprintf("('%s', make_timestamptz(%d))", date(d), at(morning).UnixMicro()))
		}
	}
	q.exec(ctx, "DELETE FROM ops.day_coverage")
	q.values(ctx, "ops.day_coverage", "report_date DATE, state VARCHAR, first_read_at TIMESTAMPTZ, "+
		"last_read_at TIMESTAMPTZ", coverage)
	q.values(ctx, "ops.step", "unit VARCHAR, started_at TIMESTAMPTZ", steps)
}

// settings stores the campaigns with their target and limit, and a payout if the worth of a conversion differs from the
// target.
func (q *Questions) settings(ctx context.Context, w *World) {
	var campaigns, modes []string
	for c := range w.Campaigns {
		limit := "NULL"
		if w.limit[c] > 0 {
			limit = fmt.Sprintf("%.6f", w.limit[c])
		}
		campaigns = append(campaigns, fmt.Sprintf("('c%02d', 'Campaign %d', 'active', 0.5, %s, %g, 'block_list')", c, c,
			limit, w.Target))
		modes = append(modes, fmt.Sprintf("('c%02d', 'block_list')", c))
	}
	q.values(ctx, "main.campaign_history", "campaign_id VARCHAR, name VARCHAR, status VARCHAR, default_bid DOUBLE, "+
		"daily_spend_limit DECIMAL(18,6), target_cpa DOUBLE, source_mode VARCHAR", campaigns)
	q.values(ctx, "main.source_mode_history", "campaign_id VARCHAR, source_mode VARCHAR", modes)
	if w.Worth != 1 {
		q.values(ctx, "main.payout_history", "from_date DATE, campaign_id VARCHAR, creative_id VARCHAR, "+
			"source_id VARCHAR, payout DOUBLE",
			[]string{fmt.Sprintf("('2026-01-01', '', '', '', %g)", w.Worth*w.Target)})
	}
}

// values inserts rows with some columns of a table. The other columns get usual values.
func (q *Questions) values(ctx context.Context, table, columns string, rows []string) {
	i := slices.IndexFunc(schema.Tables, func(t *schema.Table) bool {
		return t.FullName() == strings.TrimPrefix(table, "main.")
	})
	if len(rows) == 0 || i < 0 {
		if i < 0 {
			q.Err = errors.Join(q.Err, fmt.Errorf("there is no table %s", table))
		}
		return
	}
	var given, casts []string
	for _, c := range strings.Split(columns, ", ") {
		name, kind, _ := strings.Cut(c, " ")
		given, casts = append(given, name), append(casts, name+"::"+kind+" AS "+name)
	}
	selected := strings.Join(casts, ", ")
	for _, c := range schema.Tables[i].Columns {
		if c.Nullable || slices.Contains(given, c.Name) {
			continue
		}
		value, kind := "''", c.DuckDB()
		switch {
		case c.Name == "account_id":
			value = "'" + account + "'"
		case c.Name == "_run_id":
			value = "'r1'"
		case c.Name == "stream":
			value = "'spend_report'"
		case c.Name == "outcome":
			value = "'stored'"
		case c.Name == "is_current", c.Name == "version_no":
			value = "1"
		case c.Name == "valid_to":
			value = "'9999-12-31 00:00:00+00'"
		case strings.HasPrefix(kind, "TIMESTAMP"):
			value = "'2026-01-01 00:00:00+00'"
		case kind == "DATE":
			value = "'2026-01-01'"
		case kind != "VARCHAR":
			value = "0"
		}
		selected += ", " + value + "::" + kind + " AS " + schema.Quote(c.Name)
	}
	q.exec(ctx, "INSERT INTO "+table+" BY NAME SELECT "+selected+" FROM (VALUES "+strings.Join(rows, ", ")+") AS v("+
		strings.Join(given, ", ")+")")
}

// load appends rows to a new table called loaded, and runs a statement that copies them from there.
func (q *Questions) load(ctx context.Context, columns string, rows [][]driver.Value, statement string) {
	q.exec(ctx, "CREATE OR REPLACE TABLE main.loaded ("+columns+")")
	if q.Err != nil {
		return
	}
	conn, err := q.db.Conn(ctx)
	if err != nil {
		q.Err = err
		return
	}
	err = conn.Raw(func(c any) error {
		a, err := duckdb.NewAppenderFromConn(c.(driver.Conn), "main", "loaded")
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := a.AppendRow(r...); err != nil {
				return errors.Join(err, a.Close())
			}
		}
		return a.Close()
	})
	q.Err = errors.Join(err, conn.Close())
	q.exec(ctx, statement)
}
