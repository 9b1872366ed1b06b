package transform

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"spendsync/extract"
	"spendsync/schema"
)

var settings = SettingsContext{Account: "acme", RunID: "01KRUN"}

// entity returns an Entity as package extract would, from its JSON.
func entity(t testing.TB, id, body string) extract.Entity {
	t.Helper()
	fields, ok := extract.Value(body).Object()
	if !ok {
		t.Fatalf("no object: %s", body)
	}
	return extract.Entity{ID: id, Raw: []byte(body), Fields: fields}
}

// replying returns a client of a fake service, whose replies are files of testdata/pages, by path of the request.
func replying(t *testing.T, files map[string]string) *extract.Client {
	t.Helper()
	c, err := extract.NewClient(extract.Options{
		BaseURL: "https://api.test", Authorize: func(*http.Request) {},
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			body, err := os.ReadFile(filepath.Join("../testdata/pages", files[r.URL.Path]))
			if err != nil {
				return &http.Response{StatusCode: 404, Body: http.NoBody, ContentLength: -1}, nil
			}
			return &http.Response{StatusCode: 200, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: -1}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// show prints the columns of a row that transform fills, one per line.
func show(w io.Writer, row any) {
	v := reflect.ValueOf(row)
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name := f.Tag.Get("col")
		if name == "" { // package history fills the Frame
			continue
		}
		value := v.Field(i)
		if valid := value.FieldByName; value.Kind() == reflect.Struct {
			if !valid("Valid").Bool() {
				fmt.Fprintf(w, "  %s: NULL\n", name)
				continue
			}
			value = valid("V")
		}
		if s, ok := value.Interface().(string); ok {
			fmt.Fprintf(w, "  %s: %q\n", name, s)
			continue
		}
		fmt.Fprintf(w, "  %s: %v\n", name, value.Interface())
	}
}

// golden compares a text with a file under testdata/pages, or writes the file with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	file = filepath.Join("../testdata/pages", file)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", file, diff)
	}
}

// cases returns the names of the files of a folder, without their suffix.
func cases(t *testing.T, folder, suffix string) (names []string) {
	t.Helper()
	files, err := filepath.Glob("../testdata/pages/" + folder + "/*" + suffix)
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, error %v", files, err)
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), suffix))
	}
	return names
}

func TestCampaign_Golden(t *testing.T) {
	const id = "C1000001"
	for _, name := range cases(t, "campaigns", ".one.json") {
		t.Run(name, func(t *testing.T) {
			c := replying(t, map[string]string{
				"/v1/campaigns":       "campaigns/" + name + ".list.json",
				"/v1/campaigns/" + id: "campaigns/" + name + ".one.json",
			})
			listing, err := c.Campaigns(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(listing.Entities, func(e extract.Entity) bool { return e.ID == id })
			detail, err := c.Campaign(t.Context(), id)
			if err != nil || at < 0 {
				t.Fatalf("listed at %d, error %v", at, err)
			}
			var got strings.Builder
			row, unread, err := readCampaign(listing.Entities[at], detail, settings)
			fmt.Fprintf(&got, "campaign, unread %v, error %v\n", unread, err)
			show(&got, row)
			delivery, unread, err := readDelivery(listing.Entities[at], detail, settings)
			fmt.Fprintf(&got, "delivery, unread %v, error %v\n", unread, err)
			show(&got, delivery)
			golden(t, "campaigns/"+name+".golden", got.String())
		})
	}
}

// sampleCampaign is a reply without anything unusual.
const sampleCampaign = `{"id":"C1000001","name":"Spring","status":"active","delivery_status":"scheduled",` +
	`"default_bid":0.45,` +
	`"daily_spend_limit":250,"start_date":"2026-03-01T06:00:00Z","source_mode":"block_list",` +
	`"audience":{"country":"US"}}`

func sampleCampaignRow() schema.Campaign {
	start := schema.Instant(0)
	_ = start.UnmarshalText([]byte("2026-03-01T06:00:00Z"))
	return schema.Campaign{
		AccountID: "acme", CampaignID: "C1000001", Name: schema.Some("Spring"), Status: schema.Some("active"),
		DefaultBid: schema.Some[schema.Money](450_000), DailySpendLimit: schema.Some(250 * schema.Dollar),
		StartAt: schema.Some(start),
		Country: schema.Some("US"), SourceMode: schema.Some("block_list"), UnsupportedTargeting: schema.Some(false),
		RunID: "01KRUN",
	}
}

func instant(t *testing.T, s string) schema.Null[schema.Instant] {
	t.Helper()
	var i schema.Instant
	if err := i.UnmarshalText([]byte(s)); err != nil {
		t.Fatal(err)
	}
	return schema.Some(i)
}

// with returns the sample with one member changed; an empty value removes the member.
func with(t *testing.T, sample, key, value string) string {
	t.Helper()
	fields, ok := extract.Value(sample).Object()
	if !ok {
		t.Fatalf("no object: %s", sample)
	}
	fields[key] = extract.Value(value)
	var members []string
	for k, v := range fields {
		if len(v) > 0 {
			members = append(members, fmt.Sprintf("%q:%s", k, v))
		}
	}
	slices.Sort(members)
	return "{" + strings.Join(members, ",") + "}"
}

// form changes one key of the sample; want and unread are the expected changes of the result.
type form struct {
	key, value string
	want       func(*schema.Campaign)
	unread     string
}

func TestCampaign_TakesValuesInTheirOneForm(t *testing.T) {
	null := schema.Null[string]{}
	type row = *schema.Campaign
	takesForms(t, map[string]form{
		"sample":      {"x", `1`, func(row) {}, ""},
		"name/blank":  {"name", `" É\n "`, func(r row) { r.Name = schema.Some(" É\n ") }, ""},
		"name/null":   {"name", `null`, func(r row) { r.Name = null }, "name"},
		"name/blanks": {"name", `" "`, func(r row) { r.Name = null }, "name"},
		"bid/zero": {"default_bid", `0`, func(r row) { r.DefaultBid = schema.Null[schema.Money]{} },
			"default_bid"},
		"name/missing":   {"name", ``, func(r row) { r.Name = null }, "name"},
		"status/upper":   {"status", `"PAUSED"`, func(r row) { r.Status = schema.Some("paused") }, ""},
		"status/new":     {"status", `"on_hold"`, func(r row) { r.Status = schema.Some("on_hold") }, ""},
		"status/missing": {"status", ``, func(r row) { r.Status = null }, "status"},
		"bid/exponent":   {"default_bid", `4.5E-1`, func(row) {}, ""},
		"bid/noise":      {"default_bid", `0.45000000000000001`, func(row) {}, ""},
		"bid/largest":    {"default_bid", `999999.999999`, func(r row) { r.DefaultBid.V = 999_999_999_999 }, ""},
		"bid/missing": {"default_bid", ``, func(r row) { r.DefaultBid = schema.Null[schema.Money]{} },
			"default_bid"},
		"limit/null": {"daily_spend_limit", `null`,
			func(r row) { r.DailySpendLimit = schema.Null[schema.Money]{} }, ""},
		"limit/missing": {"daily_spend_limit", ``,
			func(r row) { r.DailySpendLimit = schema.Null[schema.Money]{} }, "daily_spend_limit"},
		"name/number":    {"name", `2024`, func(r row) { r.Name = schema.Some("2024") }, ""},
		"name/half":      {"name", `"a\ud83d"`, func(r row) { r.Name = schema.Some("a\uFFFD") }, ""},
		"status/spelled": {"status", `" On-Hold "`, func(r row) { r.Status = schema.Some("on_hold") }, ""},
		"status/empty":   {"status", `""`, func(r row) { r.Status = null }, "status"},
		"bid/text":       {"default_bid", `"0.45"`, func(row) {}, ""},
		"bid/empty": {"default_bid", `""`, func(r row) { r.DefaultBid = schema.Null[schema.Money]{} },
			"default_bid"},
		"cpa/empty": {"target_cpa", `""`, func(row) {}, ""},
		"start/utc": {"start_date", `"2026-03-01 06:00:00 UTC"`, func(row) {}, ""},
		"start/empty": {"start_date", `""`, func(r row) { r.StartAt = schema.Null[schema.Instant]{} },
			"start_at"},
		"end/no-time": {"end_date", `"0001-01-01T00:00:00Z"`, func(row) {}, ""},
		"end/empty":   {"end_date", `""`, func(row) {}, ""},
		"cpa/set": {"target_cpa", `12.5`,
			func(r row) { r.TargetCPA = schema.Some[schema.Money](12_500_000) }, ""},
		"cpa/null": {"target_cpa", `null`, func(row) {}, ""},
		"start/missing": {"start_date", ``, func(r row) { r.StartAt = schema.Null[schema.Instant]{} },
			"start_at"},
		"start/day": {"start_date", `"2026-03-08"`,
			func(r row) { r.StartAt = instant(t, "2026-03-08T06:00:00Z") }, ""},
		"start/day-after-change": {"start_date", `"2026-03-09"`,
			func(r row) { r.StartAt = instant(t, "2026-03-09T05:00:00Z") }, ""},
		"end/offset": {"end_date", `"2026-04-01T00:00:00.25+02:00"`,
			func(r row) { r.EndAt = instant(t, "2026-03-31T22:00:00.25Z") }, ""},
		"end/null":     {"end_date", `null`, func(row) {}, ""},
		"mode/null":    {"source_mode", `null`, func(r row) { r.SourceMode = null }, "source_mode"},
		"mode/missing": {"source_mode", ``, func(r row) { r.SourceMode = null }, "source_mode"},
		"mode/spelled": {"source_mode", `"Allow List"`,
			func(r row) { r.SourceMode = schema.Some("allow_list") }, ""},
		"mode/new": {"source_mode", `"Smart"`, func(r row) { r.SourceMode = schema.Some("Smart") }, ""},
		"mode/likelier-key-counts": {"source_targeting_mode", `"allowlist"`,
			func(r row) { r.SourceMode = schema.Some("allow_list") }, ""},
	})
}

func TestCampaign_TakesAudiencesInTheirOneForm(t *testing.T) {
	type row = *schema.Campaign
	audience := func(r row) { r.Country = schema.Null[string]{} } // the only audience column that the sample sets
	takesForms(t, map[string]form{
		"audience/age-text": {"audience", `{"min_age":"25"}`,
			func(r row) { audience(r); r.MinAge = schema.Some[int64](25) }, ""},
		"exclusions/text": {"unsupported_targeting", `"True"`, func(r row) { r.UnsupportedTargeting.V = true },
			""},
		"exclusions/one":    {"unsupported_targeting", `1`, func(r row) { r.UnsupportedTargeting.V = true }, ""},
		"audience/everyone": {"audience", `{}`, audience, ""},
		"audience/states": {"audience", `{"states":["tx","CA","TX"]}`,
			func(r row) { audience(r); r.States = schema.Some("CA,TX") }, ""},
		"audience/states-empty": {"audience", `{"states":[]}`, audience, ""},
		"audience/states-null":  {"audience", `{"states":null}`, audience, ""},
		"audience/platforms": {"audience", `{"platforms":["tablet","DESKTOP"]}`,
			func(r row) { audience(r); r.Platforms = schema.Some("DESKTOP,TABLET") }, ""},
		"audience/ages": {"audience", `{"min_age":13,"max_age":1.2e2}`, func(r row) {
			audience(r)
			r.MinAge,
				r.MaxAge = schema.Some[int64](13), schema.Some[int64](120)
		}, ""},
		"audience/gender": {"audience", `{"gender":"m"}`,
			func(r row) { audience(r); r.Gender = schema.Some("M") }, ""},
		"audience/subscribed": {"audience", `{"subscribed_more_than_minutes_ago":1,` +
			`"subscribed_less_than_minutes_ago":2}`, func(r row) {
			audience(r)
			r.SubscribedMoreThan, r.SubscribedLessThan = schema.Some[int64](1), schema.Some[int64](2)
		}, ""},
		"audience/exclusions": {"audience", `{"unsupported_targeting":true}`,
			func(r row) { audience(r); r.UnsupportedTargeting.V = true }, ""},
		"audience/more-keys": {"audience", `{"excluded":{"x":1},"country":"US"}`, func(row) {}, ""},
		"exclusions/beside": {"unsupported_targeting", `true`, func(r row) { r.UnsupportedTargeting.V = true },
			""},
		"exclusions/beside-false": {"unsupported_targeting", `false`, func(row) {}, ""},
		"exclusions/beside-null":  {"unsupported_targeting", `null`, func(row) {}, ""},
	})
}

// TestCampaign_WithoutAnAudience: every campaign has an audience, so a missing audience is unread. A null means that
// the service could not read it.
func TestCampaign_WithoutAnAudience(t *testing.T) {
	for _, form := range []string{``, `null`} {
		e := entity(t, "C1000001", with(t, sampleCampaign, "audience", form))
		row, reading, err := Campaign(Reply{Own: e}, SettingsContext{Account: "acme", RunID: "01KRUN"})
		if err != nil {
			t.Fatal(err)
		}
		for _, column := range AudienceColumns[:8] {
			if !slices.Contains(reading.Unread, column) || row.Country.Valid ||
				slices.Contains(reading.Withheld, column) != (form != "") {
				t.Errorf("audience %q: unread %v, withheld %v", form, reading.Unread, reading.Withheld)
			}
		}
	}
}

// takesForms reads the sample with each of the changes.
func takesForms(t *testing.T, forms map[string]form) {
	t.Helper()
	for name, tc := range forms {
		t.Run(name, func(t *testing.T) {
			body := with(t, sampleCampaign, tc.key, tc.value)
			want := sampleCampaignRow()
			want.Raw = schema.Some(body)
			tc.want(&want)
			row, unread, err := readCampaign(extract.Entity{}, entity(t, "C1000001", body), settings)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, row); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got := strings.Join(unread, " "); got != tc.unread {
				t.Errorf("unread %q, want %q", got, tc.unread)
			}
		})
	}
}

const everyAudienceColumn = "country states platforms subscribed_more_than_minutes_ago " +
	"subscribed_less_than_minutes_ago min_age max_age gender"

func TestCampaign_RefusesValuesWithTheirPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		key, value, column string
		want               error
	}{
		"name/list":              {"name", `["x"]`, "name", ErrNotText},
		"status/true":            {"status", `true`, "status", ErrNotText},
		"bid/text-comma":         {"default_bid", `"0,45"`, "default_bid", schema.ErrNotNumber},
		"bid/negative":           {"default_bid", `-0.45`, "default_bid", ErrNegative},
		"bid/too-large":          {"default_bid", `1000000`, "default_bid", schema.ErrRange},
		"bid/object":             {"default_bid", `{"usd":1}`, "default_bid", schema.ErrNotNumber},
		"limit/huge":             {"daily_spend_limit", `1e400`, "daily_spend_limit", schema.ErrRange},
		"cpa/text":               {"target_cpa", `"off"`, "target_cpa", schema.ErrNotNumber},
		"start/no-zone":          {"start_date", `"2026-03-08T00:00:00"`, "start_at", ErrNoZone},
		"end/words":              {"end_date", `"never"`, "end_at", ErrNotTime},
		"end/impossible":         {"end_date", `"2026-02-30"`, "end_at", ErrNotTime},
		"audience/list":          {"audience", `["US"]`, "audience", ErrForm},
		"audience/country":       {"audience", `{"country":["US","CA"]}`, "country", ErrNotText},
		"audience/states":        {"audience", `{"states":{"CA":true}}`, "states", ErrNotList},
		"audience/states-blank":  {"audience", `{"states":[""]}`, "states", ErrForm},
		"audience/states-number": {"audience", `{"states":[1]}`, "states", ErrNotList},
		"audience/states-null":   {"audience", `{"states":[null]}`, "states", ErrNotList},
		"audience/states-comma":  {"audience", `{"states":["CA,TX"]}`, "states", ErrForm},
		"audience/age":           {"audience", `{"min_age":25.5}`, "min_age", schema.ErrFraction},
		"audience/age-text":      {"audience", `{"max_age":"64+"}`, "max_age", schema.ErrNotNumber},
		"audience/minutes": {"audience", `{"subscribed_less_than_minutes_ago":-1}`,
			"subscribed_less_than_minutes_ago", ErrNegative},
		"audience/exclusions": {"audience", `{"unsupported_targeting":"yes"}`, "unsupported_targeting", ErrNotFlag},
		"mode/lists":          {"source_mode", `["block_list","allow_list"]`, "source_mode", ErrNotText},
		"delivery/number":     {"delivery_status", `1`, "delivery_status", ErrNotText},
	} {
		t.Run(name, func(t *testing.T) {
			e := entity(t, "C1000001", with(t, sampleCampaign, tc.key, tc.value))
			row, unread, err := readCampaign(extract.Entity{}, e, settings)
			table := "campaign_history"
			if tc.key == "delivery_status" {
				_, unread, err = readDelivery(e, extract.Entity{}, settings)
				table, row = "campaign_delivery_history", schema.Campaign{}
			}
			if got := strings.Join(unread, " "); !strings.Contains(got, tc.column) && tc.column != "audience" ||
				tc.column == "audience" && !strings.HasPrefix(got, everyAudienceColumn) {
				t.Errorf("unread %s", got)
			}
			if tc.key != "delivery_status" && (row.CampaignID != "C1000001" || row.Raw.V != string(e.Raw) ||
				row.Name.Valid == (tc.key == "name")) {
				t.Errorf("the rest of the row is %+v", row)
			}
			wantFieldError(t, err, tc.want, table, "C1000001", tc.column)
		})
	}
}

// wantFieldError requires a FieldError with this place and this reason.
func wantFieldError(t *testing.T, err, want error, table, id, column string) {
	t.Helper()
	e, ok := errors.AsType[*FieldError](err)
	if !ok {
		t.Fatalf("error %v, want a FieldError", err)
	}
	if !errors.Is(err, want) || !errors.Is(err, extract.ErrContract) {
		t.Errorf("error %v, want %v and ErrContract", err, want)
	}
	if got, want := e.Table+" "+e.ID+" "+e.Column, table+" "+id+" "+column; got != want {
		t.Errorf("place %q, want %q", got, want)
	}
	if len(e.Value) > 60 || len(err.Error()) > 400 {
		t.Errorf("an error of %d bytes: %.500s", len(err.Error()), err)
	}
	if strings.ContainsAny(err.Error(), "\n\r\x00\x7f\x1b") || !utf8.ValidString(err.Error()) {
		t.Errorf("error %q does not print", err)
	}
}

func TestCampaign_RefusesTwoCampaignsAsOne(t *testing.T) {
	a, b := entity(t, "C1000001", `{}`), entity(t, "C1000002", `{}`)
	_, _, err := readCampaign(a, b, settings)
	wantFieldError(t, err, ErrOther, "campaign_history", "C1000002", "campaign_id")
	_, _, err = readDelivery(extract.Entity{}, extract.Entity{}, settings)
	wantFieldError(t, err, ErrMissing, "campaign_delivery_history", "", "campaign_id")
}

func TestDelivery_IsKnownWhereEitherReadTellsIt(t *testing.T) {
	none := extract.Entity{}
	told := func(v string) extract.Entity {
		return entity(t, "C1000001", `{"id":"C1000001","delivery_status":`+v+`}`)
	}
	silent := entity(t, "C1000001", `{"id":"C1000001"}`)
	for name, tc := range map[string]struct {
		listed, detail extract.Entity
		want           string
	}{
		"both":          {told(`"paused"`), told(`"Scheduled"`), "scheduled"},
		"listed-alone":  {told(`"paused"`), none, "paused"},
		"detail-silent": {told(`"paused"`), silent, "paused"},
		"detail-null":   {told(`"paused"`), told(`null`), "paused"},
		"listed-null":   {told(`null`), told(`"paused"`), "paused"},
		"both-silent":   {silent, silent, ""},
		"both-null":     {told(`null`), told(`null`), ""},
		"new":           {none, told(`"in_review"`), "in_review"},
	} {
		t.Run(name, func(t *testing.T) {
			row, unread, err := readDelivery(tc.listed, tc.detail, settings)
			if err != nil {
				t.Fatal(err)
			}
			want := schema.Delivery{AccountID: "acme", CampaignID: "C1000001", RunID: "01KRUN"}
			if tc.want != "" {
				want.DeliveryStatus = schema.Some(tc.want)
			}
			if row != want {
				t.Errorf("row %+v, want %+v", row, want)
			}
			if slices.Equal(unread, []string{"delivery_status"}) != (tc.want == "") {
				t.Errorf("unread %v", unread)
			}
			_, r, _ := Delivery(Reply{Listed: tc.listed, Own: tc.detail}, settings)
			if !slices.Equal(r.Withheld, unread) {
				t.Errorf("withheld %v, want %v", r.Withheld, unread)
			}
		})
	}
}

func TestArchived_IsToldByTheStatus(t *testing.T) {
	for body, want := range map[string]bool{
		`{"status":"archived"}`: true, `{"status":"ARCHIVED"}`: true, `{"status":"active"}`: false,
		`{"status":null}`: false, `{}`: false,
	} {
		if got := Archived(nil, entity(t, "C1000001", body)); got != want {
			t.Errorf("%s: %v", body, got)
		}
	}
}

// TestSettings_TakeIDsOfAnotherForm: an ID that has another form than the described one is stored unchanged.
func TestSettings_TakeIDsOfAnotherForm(t *testing.T) {
	for _, id := range []string{"C1000001", "camp-17", "17"} {
		campaign, _, err := Campaign(Reply{Own: entity(t, id, with(t, sampleCampaign, "campaign_id",
			`"`+id+`"`))}, settings)
		if err != nil || campaign.CampaignID != id {
			t.Errorf("campaign %s: %s, error %v", id, campaign.CampaignID, err)
		}
	}
	s, err := Sources(entity(t, "C1000001", `{"mode":"block","blocked":["S1","S 2"]}`), "C1000001", settings)
	if err != nil || len(s.Rules) != 2 || s.Rules[0].SourceID != "S 2" {
		t.Errorf("sources: %+v, error %v", s.Rules, err)
	}
}
