package adsim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/push"
	"spendsync/extract/adsim/wire"
)

// form is a multipart form of fields.
func form(t testing.TB, fields map[string]string) (contentType, body string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, k := range jsontext.SortedKeys(fields) {
		if err := w.WriteField(k, fields[k]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b.String()
}

func pushTo(t testing.TB, s *Service, token, path, contentType, body string) answerOf {
	t.Helper()
	status, h, raw := doWith(t, s, "POST", "http://sim"+wire.PushPrefix+path, body, func(r *http.Request) {
		r.Header.Set("Authorization", token)
		r.Header.Set("Content-Type", contentType)
	})
	a := answerOf{status: status, header: h}
	if err := json.Unmarshal(raw, &a.body); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return a
}

// pushRefused checks the error body of the push sending APIs.
func pushRefused(t testing.TB, what string, a answerOf, status int, message string) {
	t.Helper()
	if a.status != status || a.body["statusCode"] != float64(status) || a.body["error"] != http.StatusText(status) ||
		!strings.Contains(str(a.body["message"]), message) {
		t.Errorf("%s: got %d %v, want %d %s", what, a.status, a.body, status, message)
	}
}

func TestTransactional_SendsToOneSubscriber(t *testing.T) {
	s := sim(config.Config{Control: true})
	sub := s.Subscribers()[slices.IndexFunc(s.Subscribers(), func(s push.Subscriber) bool { return s.CSID != "" })]
	fields := func(more ...string) map[string]string {
		m := map[string]string{"title": "Shipped", "message": "Your parcel ✓", "link": "https://shop.example/1"}
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	send := func(m map[string]string) answerOf {
		contentType, body := form(t, m)
		return pushTo(t, s, config.DefaultPushToken, "/api/push/v2/transactional/order-shipped", contentType, body)
	}
	for i, m := range []map[string]string{fields("psid", sub.PSID, "icon", "https://shop.example/i.png"),
		fields("csid", sub.CSID)} {
		if a := send(m); a.status != 200 {
			t.Fatalf("%d %v", a.status, a.body)
		}
		want := push.Notification{At: noon, Kind: "transactional", Campaign: "order-shipped", Website: sub.Website,
			PSID: sub.PSID, CSID: sub.CSID, Title: "Shipped", Message: "Your parcel ✓",
			Link: "https://shop.example/1", Icon: m["icon"]}
		if got := s.Outbox(); len(got) != i+1 || got[i] != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if a := pushTo(t, s, config.DefaultPushToken, "/api/push/v2/transactional/x", "application/x-www-form-urlencoded",
		"psid="+
			sub.PSID+"&title=a&message=b&link=http://x.example"); a.status != 200 {
		t.Errorf("a plain form: %d %v", a.status, a.body)
	}
	for _, missing := range []string{"title", "message", "link"} {
		pushRefused(t, missing, send(fields("psid", sub.PSID, missing, " ")), 400, "required")
	}
	pushRefused(t, "nobody", send(fields()), 400, "psid or csid")
	pushRefused(t, "no link", send(fields("psid", sub.PSID, "link", "x")), 400, "URL")
	pushRefused(t, "unknown", send(fields("psid", "nobody")), 404, "subscriber")
	pushRefused(
		t,
		"JSON",
		pushTo(t, s, config.DefaultPushToken, "/api/push/v2/transactional/x", "application/json", `{}`),
		400,
		"multipart",
	)
	pushRefused(t, "torn", pushTo(t, s, config.DefaultPushToken, "/api/push/v2/transactional/x",
		"multipart/form-data; boundary=x", `--x`), 400, "form")
	pushRefused(
		t,
		"no campaign",
		pushTo(t, s, config.DefaultPushToken, "/api/push/v2/transactional/", "application/json",
			`{}`),
		404,
		"campaign",
	)
	pushRefused(t, "token", pushTo(t, s, "nonsense", "/api/push/v2/transactional/x", "application/json", `{}`), 401,
		"invalid token")
	if status, _, _ := do(t, s, "GET", "http://sim/push/api/push/v2/transactional/x", nil); status != 405 {
		t.Errorf("GET: %d", status)
	}
	if status, got := order(t, s, "GET", "outbox", ""); status != 200 || len(got) != 3 || got[0]["title"] != "Shipped" {
		t.Errorf("the outbox is %v", got)
	}
	order(t, s, "DELETE", "outbox", "")
	if got := s.Outbox(); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

const anyBroadcast = `"website":"https://news.example","title":"T","message":"M","link":"https://x.example/"`

func broadcastTo(t testing.TB, s *Service, more string) answerOf {
	t.Helper()
	return pushTo(t, s, config.DefaultPushToken, "/api/push/v2/campaign", "application/json", `{`+anyBroadcast+more+`}`)
}

// audienceOfSegment sends a broadcast and lists who got it.
func audienceOfSegment(t testing.TB, s *Service, more string) (psids []string) {
	t.Helper()
	s.ResetOutbox()
	if a := broadcastTo(t, s, more); a.status != 200 {
		t.Fatalf("%s: %d %v", more, a.status, a.body)
	}
	for _, n := range s.Outbox() {
		psids = append(psids, n.PSID)
	}
	return psids
}

func TestBroadcast_SendsToAllOfAWebsite(t *testing.T) {
	s := sim(config.Config{})
	got := audienceOfSegment(t, s, `,"icon":"https://x.example/i.png"`)
	var want []string
	for _, sub := range s.Subscribers() {
		if sub.Website == "https://news.example" {
			want = append(want, sub.PSID)
		}
	}
	if !slices.Equal(got, want) || len(want) != 40 {
		t.Errorf("%d got it, want %d", len(got), len(want))
	}
	if n := s.Outbox()[0]; n.Title != "T" || n.Message != "M" || n.Icon != "https://x.example/i.png" ||
		n.Kind != "broadcast" {
		t.Errorf("got %+v", n)
	}
}

func TestBroadcast_RefusesAsDocumented(t *testing.T) {
	s := sim(config.Config{})
	raw := func(token, body string) answerOf {
		return pushTo(t, s, token, "/api/push/v2/campaign", "application/json", body)
	}
	for _, body := range []string{"", "{", "title=x", `{"title":}`} {
		a := raw(config.DefaultPushToken, body)
		pushRefused(t, body, a, 400, "Invalid request payload JSON format")
		if len(a.body) != 3 {
			t.Errorf("%s: got %v", body, a.body)
		}
	}
	for _, token := range []string{"", "nonsense", config.DefaultKey, config.DefaultPushToken + "2"} {
		pushRefused(t, "token "+token, raw(token, `{`+anyBroadcast+`}`), 401, "invalid token")
	}
	for _, website := range []string{"https://news.example/", "http://news.example", "news.example",
		"https://other.example"} {
		pushRefused(
			t,
			website,
			raw(config.DefaultPushToken, strings.Replace(`{`+anyBroadcast+`}`, "https://news.example",
				website, 1)),
			401,
			"invalid token",
		)
	}
	for _, more := range []string{`,"title":""`, `,"link":"x"`, `,"icon":"x"`, `,"schedule":"tomorrow"`,
		`,"ndelay":"x"`, `,"ndelay":-1`, `,"segment":{}`, `,"segment":[{}]`,
		`,"segment":[{"variable":"a","operator":"like","value":"b"}]`, `,"segment":[{"variable":"a","operator":"=="}]`,
		`,"segment":[{"variable":"a","operator":"after","value":"x"}]`,
		`,"segment":[{"variable":"a","operator":"after n min ago","value":"x"}]`, `,"external":"x"`,
		`,"subwaterfall":{}`,
		`,"subwaterfall":{"interval":1,"enabled":true,"title":"x","message":"lower case","destinationLink":"y"}`,
		`,"subwaterfall":{"interval":1,"enabled":true,"title":"x","Message":"y",` +
			`"destinationLink":"https://z.example","qsegment":[{}]}`} {
		pushRefused(t, more, broadcastTo(t, s, more), 400, "Invalid request payload input")
	}
	sub := map[string]any{"interval": 1, "enabled": true, "title": "x", "Message": "y",
		"destinationLink": "https://z.example"}
	for name := range sub {
		rest := maps.Clone(sub)
		delete(rest, name)
		pushRefused(t, "subwaterfall without "+name, broadcastTo(t, s, `,"subwaterfall":`+
			string(must(json.Marshal(rest)))), 400, name)
	}
	for name, v := range map[string]any{"destinationLink": "x", "extIcon": "x", "externalpush": "x", "interval": -1,
		"enabled": "yes"} {
		wrong := maps.Clone(sub)
		wrong[name] = v
		pushRefused(t, "subwaterfall with a wrong "+name, broadcastTo(t, s, `,"subwaterfall":`+
			string(must(json.Marshal(wrong)))), 400, "Invalid request payload input")
	}
	for _, field := range []string{"website", "title", "message", "link"} {
		pushRefused(
			t,
			field,
			raw(config.DefaultPushToken, strings.Replace(`{`+anyBroadcast+`}`, `"`+field+`"`, `"x"`, 1)),
			400,
			"required",
		)
	}
	if got := s.Broadcasts(); len(got) > 0 {
		t.Errorf("refused, and yet %v", got)
	}
}

func TestBroadcast_SegmentsWithEveryOperator(t *testing.T) {
	s := sim(config.Config{Subscribers: -1})
	add := func(psid string, minutes int, variables map[string]string) {
		if err := s.Subscribe(push.Subscriber{PSID: psid, Website: "https://news.example",
			SubscribedAt: noon.Add(-time.Duration(minutes) * time.Minute), Variables: variables}); err != nil {
			t.Fatal(err)
		}
	}
	add("ann", 1000, map[string]string{"age": "9", "city": "New York", "seen": "2026-11-21T19:30:00Z"})
	add("bob", 100, map[string]string{"age": "10", "city": "York", "seen": "2026-11-21T05:00:00Z"})
	add("cid", 10, map[string]string{"seen": "2026-11-20T20:00:00Z"})
	seen := map[string]bool{}
	for _, c := range []struct{ variable, operator, value, want string }{
		{"age", "<", "10", "ann"}, {"age", "<=", "10", "ann bob"}, {"age", ">", "9", "bob"},
		{"age", ">=", "9.0", "ann bob"},
		{"age", "equals", "9", "ann"}, {"age", "==", "10.0", "bob"}, {"city", "equals", "York", "bob"},
		{"city", "contains", "York", "ann bob"},
		{"age", "different", "9", "bob cid"}, {"city", "!=", "York", "ann cid"}, {"city", "exists", "", "ann bob"},
		{"city", "not exists", "", "cid"},
		{"seen", "before", "2026-11-21", "cid"}, {"seen", "after", "2026-11-21T06:00:00Z", "ann"},
		{"seen", "before n min ago", "60", "bob cid"}, {"seen", "after n min ago", "60", "ann"},
		{"seen", "same day", "2026-11-21", "ann bob"}, {"seen", "same day", "now", "ann bob"},
		{"seen", "same hour", "2026-11-21T05:59:59Z", "bob"},
		{"city", "<", "Oslo", "ann"}, {"city", "after", "2026-11-21", ""}, {"subscribed_at", "after n min ago",
			"50", "cid"},
	} {
		seen[c.operator] = true
		got := strings.Join(audienceOfSegment(t, s, fmt.Sprintf(`,"segment":[{"variable":%q,"operator":%q,"value":%q}]`,
			c.variable, c.operator, c.value)), " ")
		if got != c.want {
			t.Errorf("%s %s %s: got %q, want %q", c.variable, c.operator, c.value, got, c.want)
		}
	}
	for _, op := range push.Operators {
		if !seen[op] {
			t.Errorf("%s is not tried", op)
		}
	}
	if got := audienceOfSegment(t, s, `,"segment":[{"variable":"city","operator":"contains","value":"York"},`+
		`{"variable":"age","operator":">","value":"9"}]`); !slices.Equal(got, []string{"bob"}) {
		t.Errorf("two rules: %v", got)
	}
	if got := audienceOfSegment(t, s, `,"ndelay":100`); !slices.Equal(got, []string{"ann", "bob"}) {
		t.Errorf("ndelay: %v", got)
	}
}

func TestBroadcast_IsSentAtItsTimeAndFollowedUp(t *testing.T) {
	for _, schedule := range []string{`"2026-11-21T21:00:00Z"`, `"2026-11-21T15:00:00-06:00"`,
		itoa(int(noon.Add(time.Hour).Unix())), itoa(int(noon.Add(time.Hour).UnixMilli()))} {
		s := sim(config.Config{Subscribers: 3})
		sub := s.Subscribers()[0]
		follow :=
			fmt.Sprintf(`,"subwaterfall":{"interval":90,"enabled":true,"title":"Still there?","Message":"Second",
			"destinationLink":"https://y.example","extIcon":"https://y.example/i.png",
			"qsegment":[{"variable":"orders","operator":"equals","value":%q}]}`, sub.Variables["orders"])
		if a := broadcastTo(t, s, `,"schedule":`+schedule+follow); a.status != 200 {
			t.Fatalf("%s: %d %v", schedule, a.status, a.body)
		}
		if got := s.Outbox(); len(got) > 0 || len(s.Broadcasts()) != 1 || s.Broadcasts()[0].Sent {
			t.Errorf("before its time: %v %v", got, s.Broadcasts())
		}
		s.Advance(time.Hour)
		if got := s.Outbox(); len(got) != 3 || !got[0].At.Equal(noon.Add(time.Hour)) {
			t.Errorf("%s: got %v", schedule, got)
		}
		s.Advance(24 * time.Hour)
		got := s.Outbox()[3:]
		if len(got) == 0 || got[0].Kind != "sub" || got[0].Title != "Still there?" || got[0].Message != "Second" ||
			got[0].Link != "https://y.example" || !got[0].At.Equal(noon.Add(150*time.Minute)) {
			t.Errorf("the follow-up is %v", got)
		}
		for _, n := range got {
			i := slices.IndexFunc(s.Subscribers(), func(o push.Subscriber) bool { return o.PSID == n.PSID })
			if s.Subscribers()[i].Variables["orders"] != sub.Variables["orders"] {
				t.Errorf("%s is not in its segment", n.PSID)
			}
		}
	}
	s := sim(config.Config{Subscribers: 3})
	broadcastTo(t, s, `,"schedule":"2020-01-01","subwaterfall":{"interval":0,"enabled":false,"title":"x",`+
		`"Message":"x","destinationLink":"https://y.example"}`)
	if got := s.Outbox(); len(got) != 3 {
		t.Errorf("in the past, and the follow-up off: %v", got)
	}
}

func TestBroadcast_RetrievesItsPayload(t *testing.T) {
	server, cfg := imageHost(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good":
			_, _ = w.Write([]byte(`{"title":"From outside","link":"https://z.example"}`))
		case "/bad":
			_, _ = w.Write([]byte(`[]`))
		default:
			http.Error(w, "no", http.StatusInternalServerError)
		}
	})
	cfg.Subscribers = 1
	s := sim(cfg)
	for _, c := range []struct {
		more, title string
		failed      bool
	}{
		{`"external":"` + server.URL + `/good"`, "From outside", false},
		{`"external":"` + server.URL + `/bad"`, "", true}, {`"external":"` + server.URL + `/fails"`, "", true},
		{`"external":"` + server.URL + `/fails","externalerrors":false`, "", true},
		{`"external":"` + server.URL + `/fails","externalerrors":true`, "T", true},
	} {
		s.ResetOutbox()
		broadcastTo(t, s, `,`+c.more)
		title := ""
		if got := s.Outbox(); len(got) > 0 {
			title = got[0].Title
		}
		if b := s.Broadcasts()[0]; title != c.title || b.Sent != (c.title != "") || (b.Error != "") != c.failed {
			t.Errorf("%s: got %q, %+v", c.more, title, b)
		}
	}
	s.ResetOutbox()
	broadcastTo(t, s, `,"subwaterfall":{"interval":0,"enabled":true,"title":"x","Message":"y",`+
		`"destinationLink":"https://y.example","externalpush":"`+server.URL+`/good"}`)
	broadcastTo(t, s, `,"subwaterfall":{"interval":0,"enabled":true,"title":"as is","Message":"y",`+
		`"destinationLink":"https://y.example","externalpush":"`+server.URL+`/fails","externalpusherrors":true}`)
	broadcastTo(t, s, `,"subwaterfall":{"interval":0,"enabled":true,"title":"x","Message":"y",`+
		`"destinationLink":"https://y.example","externalpush":"`+server.URL+`/fails"}`)
	var titles []string
	for _, n := range s.Outbox() {
		titles = append(titles, n.Title)
	}
	if !slices.Equal(titles, []string{"T", "From outside", "T", "as is", "T"}) {
		t.Errorf("got %v", titles)
	}
}

func TestPush_SubscribersCanBeAdded(t *testing.T) {
	s := sim(config.Config{Control: true, Accounts: []config.Config{{Websites: []string{"https://other.example"}}}})
	if status, got := order(t, s, "POST", "subscribers", `{"psid":"me","website":"https://news.example",`+
		`"subscribed_at":"2026-01-01T00:00:00Z","variables":{"a":"b"}}`); status != 200 {
		t.Fatalf("%d %v", status, got)
	}
	_, got := order(t, s, "GET", "subscribers", "")
	if got[len(got)-1]["psid"] != "me" {
		t.Errorf("got %v", got[len(got)-1])
	}
	for _, body := range []string{`{"website":"https://news.example"}`,
		`{"psid":"x","website":"https://other.example"}`, `{"x":1}`} {
		if status, _ := order(t, s, "POST", "subscribers", body); status != 400 {
			t.Errorf("%s: %d", body, status)
		}
	}
	// The other account's token reaches its own website only.
	for website, want := range map[string]int{"https://other.example": 200, "https://news.example": 401} {
		body := strings.Replace(`{`+anyBroadcast+`}`, "https://news.example", website, 1)
		if a := pushTo(t, s, config.DefaultPushToken+"2", "/api/push/v2/campaign", "application/json",
			body); a.status != want {
			t.Errorf("%s: %d", website, a.status)
		}
	}
	if len(s.Outbox()) > 0 || len(s.Account(1).Outbox()) != 40 {
		t.Errorf("%d and %d", len(s.Outbox()), len(s.Account(1).Outbox()))
	}
}
