package queries_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// supersetDataset is a dataset in the form that Superset imports.
type supersetDataset struct {
	Table       string           `yaml:"table_name"`
	Schema      string           `yaml:"schema"`
	Description string           `yaml:"description"`
	MainDay     string           `yaml:"main_dttm_col,omitempty"`
	UUID        string           `yaml:"uuid"`
	Database    string           `yaml:"database_uuid"`
	Version     string           `yaml:"version"`
	Columns     []supersetColumn `yaml:"columns"`
	Metrics     []supersetMetric `yaml:"metrics,omitempty"`
}

type supersetColumn struct {
	Name        string `yaml:"column_name"`
	Type        string `yaml:"type"`
	Description string `yaml:"description"`
	IsTime      bool   `yaml:"is_dttm"`
	Groupby     bool   `yaml:"groupby"`
	Filterable  bool   `yaml:"filterable"`
}

type supersetMetric struct {
	Name        string `yaml:"metric_name"`
	Expression  string `yaml:"expression"`
	Description string `yaml:"description"`
}

// supersetID returns a UUID for a file in superset/, by which charts refer to datasets.
func supersetID(n int) string { return fmt.Sprintf("5be0d5c0-0000-4000-8000-%012d", n) }

// TestSuperset_DatasetsAreGenerated compares the datasets with the views: columns, types and comments. As in every
// view, a metric with a NULL part is NULL.
func TestSuperset_DatasetsAreGenerated(t *testing.T) {
	sumOrNull := func(column string) string {
		return "CASE WHEN count(" + column + ") = count(*) THEN sum(" + column + ") END"
	}
	ids := map[string]int{"main.spend": 11, "mart.campaign_performance": 12, "mart.source_performance": 13,
		"mart.budget_runway": 14, "mart.coverage": 15}
	for _, v := range documentedViews(t) {
		id := ids[v.Schema+"."+v.Name]
		if id == 0 {
			continue
		}
		d := supersetDataset{Table: v.Name, Schema: v.Schema, Description: v.Question + " Trap: " + v.Trap,
			UUID: supersetID(id), Database: supersetID(1), Version: "1.0.0"}
		for _, c := range v.columns {
			isTime := c.kind == "DATE" || strings.HasPrefix(c.kind, "TIMESTAMP")
			if c.name == "report_date" {
				d.MainDay = c.name
			}
			d.Columns = append(d.Columns, supersetColumn{c.name, c.kind, c.doc, isTime, true, true})
		}
		if v.Name == "spend" {
			expected := sumOrNull("conversions_expected")
			d.Metrics = []supersetMetric{
				{"spend", "sum(spend)", "US dollars."},
				{"conversions_expected", expected,
					"Conversions, those still to come included. NULL: some are not known."},
				{"cpa_expected", "sum(spend) / nullif(" + expected + ", 0)",
					"US dollars per conversion, from sums, with those still to come. NULL where some are not known."},
			}
		}
		var out bytes.Buffer
		fmt.Fprintf(&out, "# %s\n", generated)
		e := yaml.NewEncoder(&out)
		e.SetIndent(2)
		if err := e.Encode(d); err != nil {
			t.Fatal(err)
		}
		golden(t, "superset/datasets/spendsync/"+v.Name+".yaml", out.Bytes())
	}
}
