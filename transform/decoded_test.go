package transform

import (
	"slices"
	"strings"
	"testing"

	"spendsync/schema"
)

// outcome lists how the fields of an entity were decoded, sorted. An entry has the reason why a column is not set or
// not read, the name of the column and, for a refused or unnamed value, the value.
func outcome(r Decoded) (list []string) {
	for what, columns := range map[string][]string{
		"null": r.Null, "missing": r.Missing, "blank": r.Blank, "omitted": r.Omitted, "unread": r.Unread,
		"withheld": r.Withheld, "damaged": r.Damaged,
	} {
		for _, column := range columns {
			list = append(list, what+" "+column)
		}
	}
	for what, values := range map[string][]*FieldError{"refused": r.Refused, "unnamed": r.Unnamed} {
		for _, e := range values {
			list = append(list, what+" "+e.Column+" "+e.Value)
		}
	}
	slices.Sort(list)
	return list
}

// changed lists the entries that only the list to has, prefixed by +, and the entries that only from has, prefixed by
// -.
func changed(from, to []string) string {
	var list []string
	for _, s := range to {
		if !slices.Contains(from, s) {
			list = append(list, "+"+s)
		}
	}
	for _, s := range from {
		if !slices.Contains(to, s) {
			list = append(list, "-"+s)
		}
	}
	return strings.Join(list, ", ")
}

func TestCampaign_SaysHowAFieldIsNotSet(t *testing.T) {
	const restricted = `"country":"US"`
	sample := []string{"missing end_at", "omitted gender", "omitted max_age", "omitted min_age", "omitted platforms",
		"omitted states", "omitted subscribed_less_than_minutes_ago", "omitted subscribed_more_than_minutes_ago",
		"missing target_cpa"}
	for name, tc := range map[string]struct{ key, value, want string }{
		"sample":       {"x", `1`, ""},
		"name/null":    {"name", `null`, "+unread name"},
		"name/empty":   {"name", `""`, "+unread name"},
		"name/half":    {"name", `"a\ud83d"`, "+damaged name"},
		"name/list":    {"name", `[]`, "+refused name [], +unread name"},
		"cpa/null":     {"target_cpa", `null`, "+null target_cpa, -missing target_cpa"},
		"cpa/empty":    {"target_cpa", `""`, "+blank target_cpa, -missing target_cpa"},
		"cpa/zero":     {"target_cpa", `0`, "+blank target_cpa, -missing target_cpa"},
		"end/null":     {"end_date", `null`, "+null end_at, -missing end_at"},
		"status/new":   {"status", `"on_hold"`, `+unnamed status "on_hold"`},
		"status/list":  {"status", `["active","paused"]`, `+refused status ["active","paused"], +unread status`},
		"mode/new":     {"source_mode", `"Smart"`, `+unnamed source_mode "Smart"`},
		"mode/odd":     {"source_mode", `"?"`, `+refused source_mode "?", +unread source_mode`},
		"country/new":  {"audience", `{"country":"BR"}`, `+unnamed country "BR"`},
		"country/none": {"audience", `{"states":[]}`, "+null states, +omitted country, -omitted states"},
		"country/null": {"audience", `{"country":null}`, "+null country"},
		"states/new": {"audience", `{` + restricted + `,"states":["TX","ZZ"]}`,
			`+unnamed states ["TX","ZZ"], -omitted states`},
		"states/none": {"audience", `{` + restricted + `,"states":[]}`, "+null states, -omitted states"},
		"age/zero":    {"audience", `{` + restricted + `,"min_age":0}`, "+blank min_age, -omitted min_age"},
		"age/empty":   {"audience", `{` + restricted + `,"min_age":""}`, "+blank min_age, -omitted min_age"},
		"audience/unknown key": {"audience", `{` + restricted + `,"sex":"M"}`, "+missing gender, +missing max_age, " +
			"+missing min_age, +missing platforms, +missing states, +missing subscribed_less_than_minutes_ago, " +
			"+missing subscribed_more_than_minutes_ago, -omitted gender, -omitted max_age, -omitted min_age, " +
			"-omitted platforms, " +
			"-omitted states, -omitted subscribed_less_than_minutes_ago, -omitted subscribed_more_than_minutes_ago"},
		"exclusions/beside":      {"unsupported_targeting", `false`, ""},
		"exclusions/null":        {"unsupported_targeting", `null`, ""},
		"exclusions/within":      {"audience", `{` + restricted + `,"unsupported_targeting":false}`, ""},
		"exclusions/within-null": {"audience", `{` + restricted + `,"unsupported_targeting":null}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			body := with(t, sampleCampaign, tc.key, tc.value)
			_, r, err := Campaign(Reply{Own: entity(t, "C1000001", body)}, settings)
			if err != nil {
				t.Fatal(err)
			}
			got := outcome(r)
			if s := changed(sample, got); s != tc.want {
				t.Errorf("%s\nwant %s", s, tc.want)
			}
			if len(slices.Compact(slices.Clone(got))) != len(got) {
				t.Errorf("a column is named twice: %v", got)
			}
		})
	}
}

// TestCampaign_KnowsExclusionsOnlyIfAllPlacesAreUnderstood: the flag unsupported_targeting can be in two places. If its
// value in one place is not understood, the value in the other place counts only if it is true.
func TestCampaign_KnowsExclusionsOnlyIfAllPlacesAreUnderstood(t *testing.T) {
	for name, tc := range map[string]struct {
		beside, audience string
		want             schema.Null[bool]
		missing          bool
	}{
		"within-missing":   {`"some"`, `{}`, schema.Null[bool]{}, false},
		"within-false":     {`"some"`, `{"unsupported_targeting":false}`, schema.Null[bool]{}, false},
		"within-true":      {`"some"`, `{"unsupported_targeting":true}`, schema.Some(true), false},
		"within-odd":       {`true`, `{"unsupported_targeting":"some"}`, schema.Some(true), false},
		"no-audience":      {`false`, `null`, schema.Some(false), false},
		"no-audience-true": {`true`, `null`, schema.Some(true), false},
		"nowhere":          {``, `null`, schema.Null[bool]{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			body := with(t, with(t, sampleCampaign, "audience", tc.audience), "unsupported_targeting", tc.beside)
			row, r, err := Campaign(Reply{Own: entity(t, "C1000001", body)}, settings)
			if err != nil || row.UnsupportedTargeting != tc.want {
				t.Errorf("unsupported targeting %v, error %v, want %v", row.UnsupportedTargeting, err, tc.want)
			}
			if got := slices.Contains(r.Missing, "unsupported_targeting"); got != tc.missing {
				t.Errorf("missing %t, want %t", got, tc.missing)
			}
		})
	}
}

func TestCreative_SaysHowAFieldIsNotSet(t *testing.T) {
	const image, reasons = "aaaaaaaaaaaaaaaaaaaaaaaa", "+missing rejection_comment, +missing rejection_reasons"
	described := with(t, with(t, sampleCreative, "link", `"https://x"`), "icon_id", `"`+image+`"`)
	sample := []string{"missing button1", "missing button2", "missing image_id"}
	for name, tc := range map[string]struct{ key, value, want string }{
		"sample":          {"x", `1`, ""},
		"campaign/null":   {"campaign_id", `null`, ""},
		"status/rejected": {"status", `"rejected"`, reasons},
		"status/null":     {"status", `null`, reasons + ", +unread status"},
		"status/new":      {"status", `"on_hold"`, `+unnamed status "on_hold"`},
		"reasons/null":    {"rejection_reasons", `null`, ""},
		"reasons/empty":   {"rejection_reasons", `[]`, ""},
		"button/null":     {"button1", `null`, "+null button1, -missing button1"},
		"button/empty":    {"button1", `""`, "+blank button1, -missing button1"},
		"image/described": {"image_id", `"` + image + `"`, "-missing image_id"},
		"image/short":     {"image_id", `"abc"`, `+unnamed image_id "abc", -missing image_id`},
		"image/not-hex": {"image_id", `"zzzzzzzzzzzzzzzzzzzzzzzz"`,
			`+unnamed image_id "zzzzzzzzzzzzzzzzzzzzzzzz", -missing image_id`},
		"image/true":       {"image_id", `true`, "+refused image_id true, +unread image_id, -missing image_id"},
		"link/http":        {"link", `"http://x"`, ""},
		"link/other":       {"link", `"ftp://x"`, `+unnamed link "ftp://x"`},
		"link/true":        {"link", `true`, "+refused link true, +unread link"},
		"title/of-a-draft": {"title", ``, "+unread title"},
	} {
		t.Run(name, func(t *testing.T) {
			_, r, err := Creative(Reply{Own: entity(t, "C1000001-001", with(t, described, tc.key, tc.value)),
				Campaign: "C1000001"}, settings)
			if err != nil {
				t.Fatal(err)
			}
			if s := changed(sample, outcome(r)); s != tc.want {
				t.Errorf("%s\nwant %s", s, tc.want)
			}
		})
	}
}
