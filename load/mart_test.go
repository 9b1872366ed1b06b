package load

import (
	"path/filepath"
	"strings"
	"testing"

	"spendsync/load/duck"
	"spendsync/load/history"
	"spendsync/load/parquet"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// flatView returns a view with the columns of a mart. Columns that are not given have some value of the column's type.
func flatView(m *schema.Table, from string, given map[string]string) duck.View {
	var list []string
	for _, c := range m.Columns {
		e := "NULL"
		switch v, ok := given[c.Name]; {
		case ok:
			e = v
		case c.Nullable:
		case c.DuckDB() == "VARCHAR":
			e = "'x'"
		case c.DuckDB() == "BOOLEAN":
			e = "false"
		case c.DuckDB() == "DATE":
			e = "DATE '2026-11-01'"
		default:
			e = "0"
		}
		list = append(list, e+" AS "+c.Name)
	}
	return duck.View{Schema: "mart", Name: m.View, SQL: "SELECT " + strings.Join(list, ", ") + " FROM " + from,
		IsTable: true, Reads: []string{"main.spend_daily", "main.campaign_history"}}
}

// martViews are small models for these tests: package load does not know the real ones.
func martViews() []duck.View {
	days := flatView(schema.Marts[0], "main.spend_daily AS s LEFT JOIN main.campaign_history AS h ON h.account_id = "+
		"s.account_id AND h.campaign_id = s.campaign_id AND h.version_no = 1 GROUP BY ALL",
		map[string]string{
			"account_id": "s.account_id", "report_date": "s.report_date", "campaign_id": "s.campaign_id",
			"campaign_name": "h.name",
			"spend":         "sum(s.spend)", "clicks": "sum(s.clicks)",
		})
	sources := flatView(schema.Marts[1], "main.spend_daily AS s WHERE s.source_id <> '' GROUP BY ALL",
		map[string]string{
			"account_id": "s.account_id", "campaign_id": "s.campaign_id", "source_id": "s.source_id",
			"campaign_name": "(SELECT max(h.name) FROM main.campaign_history AS h WHERE h.account_id = " +
				"s.account_id AND h.campaign_id = s.campaign_id)",
			"spend": "sum(s.spend)",
			"cpc":   "sum(s.spend)::DOUBLE / nullif(sum(s.clicks), 0)",
		})
	return []duck.View{days, sources}
}

const martDay = "parquet/mart_campaign_day/account=acme/month=2026-11-01/data.parquet"

func martRows(t *testing.T, dir, path string) []schema.CampaignDay {
	t.Helper()
	rows, err := parquet.ReadRows(filepath.Join(dir, path), schema.CampaignDays)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func sourceRows(t *testing.T, dir string) []schema.Source30d {
	t.Helper()
	rows, err := parquet.ReadRows(filepath.Join(dir, "parquet/mart_source_30d/account=acme/data.parquet"),
		schema.Source30ds)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestMarts_AreTheViewsByMonth(t *testing.T) {
	r := newRun(t, t.TempDir())
	r.opts.DuckDB.Views = martViews()
	october := schema.NewDate(2026, 10, 25)
	days := twoDays()
	days[october] = []schema.Spend{schematest.SpendRow(october, "S1", 7)}
	m := r.mustSync(days)
	if got := martRows(t, r.dir, martDay); len(got) != 2 || got[1].Spend.V != 12_340_001 || got[1].ReportDate != day ||
		got[1].CampaignName.Valid {
		t.Errorf("November = %+v", got)
	}
	if got := martRows(t, r.dir, "parquet/mart_campaign_day/account=acme/month=2026-10-01/data.parquet"); len(got) !=
		1 || got[0].Spend.V != 7 {
		t.Errorf("October = %+v", got)
	}
	sources := sourceRows(t, r.dir)
	// (12.34 - 5 + 0.000007) / 9
	if len(sources) != 2 || sources[0].SourceID != "S1" || sources[0].CPC.V != 815_556 {
		t.Errorf("sources = %+v", sources)
	}
	if m.Accounts["acme"].Files[martDay] == nil || m.Views == "" {
		t.Error("the manifest does not name the mart")
	}
	if got := query(t, r.dir, "SELECT count(*) FROM ops.file WHERE table_name LIKE 'mart_%'"); got != "3" {
		t.Errorf("ops.file has %s marts", got)
	}
	before := fileHashes(t, r.dir, "parquet")
	r.mustSync(days)
	for path, h := range fileHashes(t, r.dir, "parquet") {
		if before[path] != h && !strings.Contains(path, "ops_") {
			t.Errorf("%s changed", path)
		}
	}
}

// TestMarts_FollowWhatBecameKnownOfThePast: if the settings of a campaign arrive long after its days, the files of past
// months are rewritten, although no run reads their days again.
func TestMarts_FollowWhatBecameKnownOfThePast(t *testing.T) {
	r := newRun(t, t.TempDir())
	r.opts.DuckDB.Views = martViews()
	r.mustSync(twoDays())
	r.at = now.AddDate(0, 4, 0)
	r.mustSync(nil)
	s, err := Open(t.Context(), r.dir, "acme", r.opts)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	at := schema.InstantOf(r.at)
	for _, name := range []string{"Known at last", "Filled"} {
		g, err := stagingOf(s, "late"+name[:5])
		if err != nil {
			t.Fatal(err)
		}
		row := schema.Campaign{AccountID: "acme", CampaignID: "C1234567", Frame: schema.Frame{
			VersionNo: 1, ValidFrom: at, ValidTo: schema.Forever, IsCurrent: true, LastConfirmedAt: at,
			ChangeType: schema.FirstSeen, ReadState: schema.ReadOK,
		}, Name: schema.Some(name), RunID: "late"}
		if err := PutHistory[schema.Campaign, *schema.Campaign](s, g.Area, &g.settings, schema.CampaignHistory,
			history.Versions[schema.Campaign]{Rows: []schema.Campaign{row}}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := publish(t.Context(), g, g.publication(now), RunRecord{Run: schema.Run{AccountID: "acme",
			Command: "sync", StartedAt: at, FinishedAt: at, RunID: "late" + name[:5]}}); err != nil {
			t.Fatal(err)
		}
		if got := martRows(t, r.dir, martDay); got[0].CampaignName.V != name {
			t.Errorf("the campaign's name in November = %+v, want %s", got[0].CampaignName, name)
		}
		if got := sourceRows(t, r.dir); got[0].CampaignName.V != name {
			t.Errorf("the campaign's name beside its sources = %+v, want %s", got[0].CampaignName, name)
		}
	}
}

// TestMarts_AndViewsThatFailHoldNothingBack: a view may fail, or the view of a mart may return a value that its table
// forbids. The numbers are published nevertheless, and a later run makes the models when they no longer fail.
func TestMarts_AndViewsThatFailHoldNothingBack(t *testing.T) {
	r := newRun(t, t.TempDir())
	r.opts.DuckDB.Views = append(martViews(), duck.View{Schema: "mart", Name: "broken",
		SQL: "SELECT nonsense FROM main.spend_daily"})
	r.opts.DuckDB.Views[0].SQL = strings.Replace(r.opts.DuckDB.Views[0].SQL, "s.campaign_id AS", "NULL AS", 1)
	m := r.mustSync(twoDays())
	var texts []string
	for _, err := range r.preview.ViewErrors {
		texts = append(texts, err.Error())
	}
	if len(texts) != 2 || !strings.Contains(texts[0], "mart.broken could not be made") ||
		!strings.Contains(texts[1], "gives a NULL in campaign_id") {
		t.Errorf("view errors = %q", texts)
	}
	if m.Accounts["acme"].Files[martDay] != nil || len(m.Accounts["acme"].Days) != 2 {
		t.Errorf("published = %+v", m.Accounts["acme"])
	}
	r.opts.DuckDB.Views = martViews()
	r.at = now.AddDate(0, 4, 0)
	r.mustSync(nil)
	if len(r.preview.ViewErrors) != 0 || len(martRows(t, r.dir, martDay)) != 2 {
		t.Errorf("the next run left view errors %v", r.preview.ViewErrors)
	}
}
