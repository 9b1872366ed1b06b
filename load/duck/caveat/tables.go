package caveat

import (
	"regexp"
	"slices"
	"strings"

	"spendsync/schema"
)

// table is what the package knows of a table or view.
type table struct {
	columns []string // nil: not known
	key     []string // nil: not known
	dated   string   // the column with the Chicago day of the row's money; "" if it has none
	// goesOn reports whether the open day is in it.
	goesOn bool
	fact   bool   // its rows are money at the finest grain
	now    string // it shows the current versions of this table of versions
	entity string // its name in mart.unconfirmed_settings
}

// versioned reports whether several rows are one thing at several times.
func (t table) versioned() bool {
	return slices.Contains(t.key, "version_no") || slices.Contains(t.key, "seen_at")
}

// versionColumns are the columns by which a statement shows that it knows of versions.
var versionColumns = []string{"version_no", "valid_from", "valid_to", "is_current", "changed_after", "change_type",
	"changed_columns", "seen_at", "last_confirmed_at"}

// spendColumns are the columns of main.spend.
const spendColumns = "account_id report_date campaign_id campaign_name creative_id creative_title source_id spend " +
	"clicks " +
	"impressions conversions conversions_expected conversions_share campaign_status default_bid daily_spend_limit " +
	"target_cpa country is_settings_assumed is_open is_complete is_final"

// current names the views of the settings of now, with their keys.
var current = []struct{ view, of, key, entity string }{
	{"campaign", "campaign_history", "account_id campaign_id", "campaign"},
	{"creative", "creative_history", "account_id creative_id", "creative"},
	{"source_rule", "source_rule_history", "account_id campaign_id source_id rule", ""},
	{"source_mode", "source_mode_history", "account_id campaign_id", "source settings"},
	{"account", "account_snapshot", "account_id", "balance"},
}

// tables are the tables and views by schema and name.
var tables = func() map[string]table {
	all := map[string]table{}
	for _, t := range schema.Tables {
		name := t.FullName()
		if !strings.Contains(name, ".") {
			name = "main." + name
		}
		all[name] = table{columns: t.ColumnNames(), key: t.KeyNames()}
	}
	changes := all["main.spend_change"] // what happened: no thing has several
	changes.key = nil
	all["main.spend_change"] = changes
	daily := all["main.spend_daily"]
	daily.dated, daily.goesOn, daily.fact = "report_date", true, true
	all["main.spend_daily"] = daily
	all["main.spend"] = table{columns: strings.Fields(spendColumns), key: daily.key, dated: "report_date", fact: true}
	for _, c := range current {
		of := all["main."+c.of]
		columns := append(slices.Clone(of.columns), "delivery_status", "unread_fields", "unread_since")
		all["main."+c.view] = table{columns: columns, key: strings.Fields(c.key), now: "main." + c.of, entity: c.entity}
	}
	all["main.today"] = table{key: []string{"account_id"}, columns: strings.Fields("account_id today yesterday " +
		"as_of_at " +
		"last_whole_date month_from month_to last_month_from last_month_to")}
	all["main.source"] = table{key: []string{"account_id", "source_id"}, columns: strings.Fields("account_id " +
		"source_id " +
		"first_report_date last_report_date campaigns")}
	sums := all["mart.campaign_spend"]
	sums.dated, sums.goesOn = "report_date", true
	all["mart.campaign_spend"] = sums
	all["mart.campaign_day"] = table{key: []string{"account_id", "report_date", "campaign_id"}, dated: "report_date",
		goesOn: true, columns: schema.CampaignDays.ColumnNames()}
	for _, name := range []string{"account_report", "campaign_report", "ad_group_report", "ad_report", "url_report"} {
		all["mart."+name] = table{dated: "date_day", goesOn: true}
	}
	return all
}()

// lookUp returns a table by the name that a statement has for it.
func lookUp(schemaName, name string) (full string, t table, known bool) {
	if schemaName == "" {
		schemaName = "main"
	}
	full = schemaName + "." + name
	t, known = tables[full]
	return full, t, known
}

// measures are the columns with sums of the report.
var measures = []string{"spend", "clicks", "impressions", "conversions", "conversions_expected", "revenue"}

// settings are the columns of main.spend that hold a campaign's settings of the day, the same in each of its rows.
var settings = []string{"default_bid", "daily_spend_limit", "target_cpa"}

// settingsOfNow are the columns of the views of now that a day's money must not be held against.
var settingsOfNow = []string{"default_bid", "daily_spend_limit", "target_cpa", "bid", "country"}

var (
	// ratioColumn matches the columns of views that are a ratio of sums.
	ratioColumn = regexp.MustCompile(`^(cpa|cpc|ctr|cvr|cpm|roi|roas|epc|ecpc)(_[a-z]+)*$|^(utilization)$`)
	// instantColumn matches the columns of instants.
	instantColumn = regexp.MustCompile(`_at$|^valid_(from|to)$|^changed_after$|^unread_since$`)
	// dayColumn matches the columns of Chicago days.
	dayColumn = regexp.MustCompile(`_date$|^(today|yesterday|date_day)$|^(last_)?month_(from|to)$`)
)

// entityColumns are the columns of IDs and names that many rows of the report share.
var entityColumns = []string{"campaign_id", "creative_id", "source_id", "campaign_name", "report_date"}
