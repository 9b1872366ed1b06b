package queries_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// ratios are the metrics that are not sums. Each is the ratio of two sums, never a mean of ratios.
var ratios = []struct{ name, of, by, doc string }{
	{"cpc", "spend", "clicks", "US dollars per click."},
	{"ctr", "clicks", "impressions", "Clicks per impression."},
	{"conversion_rate", "conversions_expected", "clicks", "Expected conversions per click."},
	{"cpa", "spend", "conversions", "US dollars per conversion reported so far: too high for young days."},
	{"cpa_expected", "spend", "conversions_expected", "US dollars per conversion, with those still to come."},
}

// TestDbt_SemanticModelIsGenerated compares the package's semantic model with the view spend: each additive number is a
// metric, each text and flag a dimension, and each ID an entity for joins. .ci/readers checks with MetricFlow that the
// metrics have the view's values.
func TestDbt_SemanticModelIsGenerated(t *testing.T) {
	type object = map[string]any
	views := documentedViews(t)
	spend := views[slices.IndexFunc(views, func(v documentedView) bool { return v.Schema+"."+v.Name == "main.spend" })]
	var entities, dimensions, measures, metrics []object
	for _, c := range spend.columns {
		entity, isID := strings.CutSuffix(c.name, "_id")
		switch {
		case isID:
			entities = append(entities, object{"name": entity, "type": "foreign", "expr": c.name, "description": c.doc})
		case c.kind == "DATE":
			dimensions = append(dimensions, object{"name": c.name, "type": "time", "description": c.doc,
				"type_params": object{"time_granularity": "day"}})
		case c.kind == "VARCHAR" || c.kind == "BOOLEAN":
			dimensions = append(dimensions, object{"name": c.name, "type": "categorical", "description": c.doc})
		case slices.Contains([]string{"spend", "clicks", "impressions", "conversions", "conversions_expected"}, c.name):
			doc := c.doc
			if before, _, nullable := strings.Cut(doc, " NULL: "); nullable {
				doc = before + " Rows for which it is not known are left out of the sum."
			}
			measures = append(measures, object{"name": c.name, "agg": "sum", "description": doc})
			metrics = append(metrics, object{"name": c.name, "label": c.name, "description": doc, "type": "simple",
				"type_params": object{"measure": c.name}})
		}
	}
	if len(entities) != 4 || len(measures) != 5 {
		t.Fatalf("%d entities, %d measures", len(entities), len(measures))
	}
	for _, r := range ratios {
		metrics = append(metrics, object{"name": r.name, "label": r.name, "description": r.doc, "type": "ratio",
			"type_params": object{"numerator": r.of, "denominator": r.by}})
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "# %s\n", generated)
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(object{
		"models": []object{{
			"name": "spendsync__day", "description": "Every Chicago day of the warehouse: MetricFlow's time spine.",
			"time_spine": object{"standard_granularity_column": "date_day"},
			"columns":    []object{{"name": "date_day", "granularity": "day", "description": "Chicago calendar day."}},
		}, {"name": "spendsync__spend", "description": spend.Question + " Trap: " + spend.Trap}},
		"semantic_models": []object{{
			"name": "spend", "description": spend.Question, "model": "ref('spendsync__spend')",
			"defaults": object{"agg_time_dimension": "report_date"}, "primary_entity": "spend_row",
			"entities": entities, "dimensions": dimensions, "measures": measures,
		}},
		"metrics": metrics,
	}); err != nil {
		t.Fatal(err)
	}
	golden(t, "dbt/models/warehouse/semantic.yml", out.Bytes())
}
