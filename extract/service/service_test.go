package service

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestWith_RefusesALineWithItsNumber: a line that cannot be used is refused, and the error has the number of the line.
func TestWith_RefusesALineWithItsNumber(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"unknown key": {"sources.kind: [docs]\ncampaign.default_bids: bid\n",
			"line 2: campaign.default_bids: there is"},
		"unknown section": {"campaigns:\n  name: title\n", "line 2: campaigns.name: there is no such key"},
		"section as text": {"campaign: x\n", "line 1: campaign: there is no such key"},
		"number":          {"report:\n  clicks: 7\n", "line 2: report.clicks: a number where a text belongs"},
		"boolean":         {"sources.kind: [docs, yes, true]\n", "line 1: sources.kind: a boolean"},
		"null":            {"sources.kind:\n", "line 1: sources.kind: a null where a text belongs"},
		"object":          {"sources.kind: [{a: b}]\n", "line 1: sources.kind: an object where a text belongs"},
		"empty list":      {"sources.kind: []\n", "line 1: sources.kind: an empty list"},
		"empty name":      {"sources.kind: ['']\n", "line 1: sources.kind: an empty name"},
		"list for a text": {"\npaths.report: [a, b]\n", "line 2: paths.report: a list, where one text belongs"},
		"twice":           {"sources.kind: docs\nsources.kind: rows\n", "line 2: sources.kind: it is in line 1, too"},
		"twice, once only": {"sources.kind: docs\nsources.kind.only: rows\n",
			"line 2: sources.kind.only: it is in line 1, too"},
		"only of nothing":  {"campaigns.only: x\n", "line 1: campaigns.only: there is no such key"},
		"twice nested":     {"campaign.name: a\ncampaign:\n  name: b\n", "line 3: campaign.name: it is in line 1, too"},
		"not YAML":         {"sources.kind: [docs\nmore: x\n", "not YAML"},
		"tab":              {"campaign:\n\tname: x\n", "line 2: not YAML"},
		"a list":           {"- docs\n", "line 1: lines of the form"},
		"two documents":    {"sources.kind: docs\n---\nsources.kind: rows\n", "a second document"},
		"zone":             {"times.zone: Chicago\n", `line 1: times.zone: "Chicago" is not the name of a zone`},
		"layout":           {"times.forms: [YYYY-MM-DD]\n", "line 1: times.forms: \"YYYY-MM-DD\" is not a layout"},
		"path with host":   {"paths.me: https://elsewhere.example/me\n", "line 1: paths.me: "},
		"path with dots":   {"paths.me: ../../me\n", "is not a path below the base URL"},
		"path with query":  {"paths.me: v2/me?x=1\n", "is not a path below the base URL"},
		"path without id":  {"paths.campaign: v2/campaigns\n", `"v2/campaigns" has no {id} for the ID`},
		"path with an id":  {"paths.me: v2/me/{id}\n", "nothing to put there"},
		"one name for two": {"report.clicks: total_spend\n", "total_spend is a name of report.clicks, too"},
	} {
		s, err := (*Service)(nil).With([]byte(tc.text))
		var line *Error
		if !errors.As(err, &line) || !strings.Contains(err.Error(), tc.want) || s != nil {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// TestWith_LaysLinesOver: the names in the file come before the embedded names, or replace them if the key ends in
// ".only". Lines that the file lacks stay. The mark depends on the changed lines.
func TestWith_LaysLinesOver(t *testing.T) {
	s, err := Default().With([]byte("# ours\ncampaign:\n  default_bid: [default_bid, bidCpc]\n" +
		"report.total_spend.only: spendUSD\nreport.clicks: taps\n" +
		"sources: {kind: {only: docs}}\ntimes.zone: America/Chicago\n" +
		"paths: {campaign: 'v2/c/{id}'}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.Names("campaign.default_bid"), " "); got != "default_bid bidCpc" {
		t.Errorf("campaign.default_bid: %s", got)
	}
	if s.Text("report.total_spend") != "spendUSD" {
		t.Errorf("the column is asked for as %s", s.Text("report.total_spend"))
	}
	if column, ok := s.Column("spendUSD"); column != "total_spend" || !ok {
		t.Errorf("spendUSD is the column %q", column)
	}
	if _, ok := s.Column("total_spend"); ok {
		t.Error("total_spend is still a name of the column")
	}
	if column, _ := s.Column("clicks"); s.Text("report.clicks") != "taps" || column != "clicks" {
		t.Errorf("clicks are asked for as %s, and are the column %q", s.Text("report.clicks"), column)
	}
	if got := strings.Join(s.Names("sources.kind"), " "); got != "docs" {
		t.Errorf("sources.kind: %s", got)
	}
	if s.Zone() == nil || s.Zone().String() != "America/Chicago" || Default().Zone() != nil {
		t.Errorf("zone %v, built in %v", s.Zone(), Default().Zone())
	}
	if got := s.Path("campaign", "a/b ?"); got != "v2/c/a%2Fb%20%3F" {
		t.Errorf("path %s", got)
	}
	if got := s.Path("creative", "C1"); got != "v1/creatives/C1" {
		t.Errorf("path %s", got)
	}
	if _, err := Default().With([]byte("# nothing yet\n")); err != nil {
		t.Errorf("an empty file: %v", err)
	}
}

// TestDefault_IsComplete: every line has a value, and every layout of a time is valid.
func TestDefault_IsComplete(t *testing.T) {
	s := Default()
	for _, key := range s.Keys() {
		if len(s.Names(key)) == 0 {
			t.Errorf("%s is empty", key)
		}
	}
	for _, form := range s.Names("times.forms") {
		at := time.Date(2026, 3, 8, 1, 2, 3, 0, time.UTC)
		if _, err := time.Parse(form, at.Format(form)); err != nil {
			t.Errorf("%s: %v", form, err)
		}
	}
}
