package lake

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	icebergcatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/view"

	"spendsync/schema"
)

// SpendView is a view beside the tables: the rows of main.spend of the DuckDB file, but for the two columns that need
// an estimate.
const SpendView = "spend"

// spendSQL is in the words that Spark and Trino share. An @ stands before the name of each table.
//
//go:embed spend.sql
var spendSQL string

// trinoCatalog is what Trino's readers must call the catalog: as the manual does. Trino knows no table of "the view's
// own catalog"; Spark does, and reads the view under any name.
const trinoCatalog = "lake"

// spendRepresentations are the view in the dialects of Spark and Trino.
func (l *Lake) spendRepresentations() view.Representations {
	qualified := fmt.Sprintf("%s.%q.", trinoCatalog, l.opts.Namespace)
	return view.Representations{view.NewRepresentation(strings.ReplaceAll(spendSQL, "@", ""), "spark"),
		view.NewRepresentation(strings.ReplaceAll(spendSQL, "@", qualified), "trino")}
}

const spendComment = "What did each creative spend and bring at each source on each Chicago day that was over, as " +
	"known now? Trap: the open day is left out (spend_daily has it). Conversions of the last days still arrive; add " +
	"conversions_fractional. Days that were never read have no rows (ops_day_coverage). Settings are those at the " +
	"end of the day; names are those of now."

// spendColumns are the columns of the view: like which column of a table each is, or what it tells.
var spendColumns = []struct{ name, table, like, doc string }{
	{"account_id", "spend_daily", "account_id", ""}, {"report_date", "spend_daily", "report_date", ""},
	{"campaign_id", "spend_daily", "campaign_id", ""},
	{"campaign_name", "campaign_history", "name", "Name of the campaign now, else as the report gave it."},
	{"creative_id", "spend_daily", "creative_id", ""},
	{"creative_title", "creative_history", "title", "Title of the creative now. NULL: never readable."},
	{"source_id", "spend_daily", "source_id", ""}, {"spend", "spend_daily", "spend", ""},
	{"clicks", "spend_daily", "clicks", ""}, {"impressions", "spend_daily", "impressions", ""},
	{"conversions", "spend_daily", "conversions", ""},
	{"conversions_fractional", "spend_daily", "conversions_fractional", ""},
	{"campaign_status", "campaign_history", "status", "Status of the campaign at the end of the day."},
	{"default_bid", "campaign_history", "default_bid",
		"US dollars per click that the campaign bid at the end of the day, if the source had no bid of its own."},
	{"daily_spend_limit", "campaign_history", "daily_spend_limit",
		"US dollars that the campaign was to spend at most on the day, at its end. NULL: no limit."},
	{"target_cpa", "campaign_history", "target_cpa",
		"US dollars per conversion that the campaign aimed at, at the end of the day. NULL: none."},
	{"country", "campaign_history", "country", "Country of the campaign's audience at the end of the day."},
	{"is_settings_assumed", "campaign_history", "is_current", "Whether the campaign's settings were first read after " +
		"the day: those of the first read are shown. NULL: they were never read."},
	{"is_open", "campaign_history", "is_current",
		"Whether the day was last read before it was over: more of it may be missing."},
	{"is_complete", "campaign_history", "is_current", "Whether the day is proven complete."},
	{"is_final", "campaign_history", "is_current",
		"Whether the day is out of the report's reach, so that nothing can change any more."},
}

// spendSchema is what readers are told of the view's columns.
func spendSchema() *iceberg.Schema {
	tables := map[string]*schema.Table{}
	for _, t := range schema.Documented() {
		tables[t.Name] = t
	}
	var fields []iceberg.NestedField
	for i, c := range spendColumns {
		for _, like := range tables[c.table].Columns {
			if like.Name == c.like {
				f := iceberg.NestedField{ID: i + 1, Name: c.name, Type: icebergType(like), Doc: c.doc}
				if f.Doc == "" {
					f.Doc = like.Doc
				}
				fields = append(fields, f)
			}
		}
	}
	return iceberg.NewSchema(0, fields...)
}

// makeView makes the view, or replaces an older one, and reports why the catalog does not take it; a catalog without
// views needs no reason. Without the view the tables are what they are.
func (l *Lake) makeView(ctx context.Context) (refused string, err error) {
	err = l.replaceView(ctx)
	switch said := remote("view "+SpendView, err); {
	case err == nil, errors.Is(err, rest.ErrEndpointNotSupported):
		return "", nil
	case errors.Is(said, ErrUnreachable) && !errors.Is(err, icebergcatalog.ErrViewAlreadyExists):
		return "", said
	default:
		return said.Error(), nil
	}
}

func (l *Lake) replaceView(ctx context.Context) error {
	id := l.identifier(SpendView)
	version, err := view.NewVersion(1, 0, l.spendRepresentations(), l.namespace(),
		view.WithTimestampMS(l.opts.Now().UnixMilli()))
	if err != nil {
		return err
	}
	old, err := l.catalog.LoadView(ctx, id)
	if errors.Is(err, icebergcatalog.ErrNoSuchView) {
		_, err = l.catalog.CreateView(ctx, id, version, spendSchema(), icebergcatalog.WithViewProperties(
			iceberg.Properties{"comment": spendComment}))
		return err
	} else if err != nil {
		return err
	}
	if slices.Equal(old.Metadata().CurrentVersion().Representations, version.Representations) {
		return nil
	}
	for _, v := range old.Metadata().Versions() {
		version.VersionID = max(version.VersionID, v.VersionID+1)
	}
	var updates []view.Update
	if version.SchemaID = old.Metadata().CurrentSchemaID(); !old.Metadata().CurrentSchema().Equals(spendSchema()) {
		version.SchemaID = -1 // the one that is added
		updates = append(updates, view.NewAddSchemaUpdate(spendSchema()))
	}
	_, err = l.catalog.UpdateView(ctx, id, []view.Requirement{}, append(updates, view.NewAddViewVersionUpdate(version),
		view.NewSetCurrentVersionUpdate(-1), view.NewSetPropertiesUpdate(iceberg.Properties{"comment": spendComment})))
	return err
}
