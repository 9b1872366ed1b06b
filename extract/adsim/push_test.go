package adsim

import (
	"bytes"
	"encoding/json"
	"maps"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/push"
	"spendsync/extract/adsim/wire"
)

// form is a multipart form of fields.
func form(t testing.TB, fields map[string]string) (contentType, body string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, k := range slices.Sorted(maps.Keys(fields)) {
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
	s := sim(config.Config{})
	sub := s.Subscribers()[slices.IndexFunc(s.Subscribers(), func(s push.Subscriber) bool { return s.CSID != "" })]
	fields := func(more ...string) map[string]string {
		m := map[string]string{"title": "Shipped", "message": "Your parcel ✓", "link": "https://shop.example/1"}
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	path := "/api/push/v2/transactional/order-shipped"
	send := func(m map[string]string) answerOf {
		contentType, body := form(t, m)
		return pushTo(t, s, config.DefaultPushToken, path, contentType, body)
	}
	for _, m := range []map[string]string{fields("psid", sub.PSID, "icon", "https://shop.example/i.png"),
		fields("csid", sub.CSID)} {
		if a := send(m); a.status != 200 {
			t.Fatalf("%d %v", a.status, a.body)
		}
		sent := s.Outbox()
		if n := sent[len(sent)-1]; n.Kind != "transactional" || n.Campaign != "order-shipped" || n.PSID != sub.PSID ||
			n.Title != "Shipped" || n.Icon != m["icon"] || !n.At.Equal(noon) {
			t.Errorf("got %+v", n)
		}
	}
	if a := pushTo(t, s, config.DefaultPushToken, path, "application/x-www-form-urlencoded",
		"psid="+sub.PSID+"&title=a&message=b&link=http://x.example"); a.status != 200 || len(s.Outbox()) != 3 {
		t.Errorf("a plain form: %d %v", a.status, a.body)
	}
	for _, missing := range []string{"title", "message", "link"} {
		pushRefused(t, missing, send(fields("psid", sub.PSID, missing, "")), 400, "required")
	}
	pushRefused(t, "nobody", send(fields()), 400, "psid or csid")
	if a := send(fields("psid", sub.PSID, "link", "shop/1")); a.status != 200 {
		t.Errorf("a link that is any text: %d %v", a.status, a.body)
	}
	pushRefused(t, "no icon", send(fields("psid", sub.PSID, "icon", "x")), 400, "URL")
	for _, campaign := range []string{"", "a/b"} {
		to := "/api/push/v2/transactional/" + campaign
		pushRefused(t, "campaign", pushTo(t, s, config.DefaultPushToken, to, "", ""), 404, "Not Found")
	}
	pushRefused(t, "Bearer", pushTo(t, s, "Bearer "+config.DefaultPushToken, path, "application/json", `{}`), 401,
		"invalid token")
	pushRefused(t, "unknown", send(fields("psid", "nobody")), 404, "subscriber")
	pushRefused(t, "torn", pushTo(t, s, config.DefaultPushToken, path, "multipart/form-data; boundary=x", `--x`), 400,
		"form")
	pushRefused(t, "token", pushTo(t, s, "nonsense", path, "application/json", `{}`), 401, "invalid token")
	if status, _, _ := do(t, s, "GET", "http://sim/push"+path, nil); status != 405 {
		t.Errorf("GET: %d", status)
	}
}

const anyBroadcast = `"website":"https://news.example","title":"T","message":"M","link":"https://x.example/"`

func broadcastTo(t testing.TB, s *Service, more string) answerOf {
	t.Helper()
	return pushTo(t, s, config.DefaultPushToken, "/api/push/v2/campaign", "application/json", "{"+anyBroadcast+more+"}")
}

func TestBroadcast_RefusesAsDocumented(t *testing.T) {
	s := sim(config.Config{})
	send := func(token, body string) answerOf {
		return pushTo(t, s, token, "/api/push/v2/campaign", "application/json", body)
	}
	const ok = config.DefaultPushToken
	pushRefused(t, "not JSON", send(ok, `{"website":`), 400, "Invalid request payload JSON format")
	pushRefused(t, "token", send("x", "{"+anyBroadcast+"}"), 401, "invalid token")
	pushRefused(t, "website", send(ok, "{"+strings.Replace(anyBroadcast, "news", "other", 1)+"}"), 401, "invalid token")
	for _, more := range []string{`,"title":""`, `,"link":"x"`, `,"icon":"x"`, `,"ndelay":-1`, `,"schedule":"soon"`,
		`,"external":"x"`, `,"segment":[{"variable":"city"}]`, `,"subwaterfall":{"interval":5}`, `,"ndelay":"1"`,
		`,"segment":[{"variable":"city","operator":"like","value":"x"}]`,
		`,"subwaterfall":{"interval":5,"enabled":true,"title":"t","Message":"m","destinationLink":"x"}`} {
		pushRefused(t, more, broadcastTo(t, s, more), 400, "Invalid request payload")
	}
	if got := s.Outbox(); len(got) > 0 {
		t.Errorf("sent %v", got)
	}
}

func TestBroadcast_SegmentsWithEveryOperator(t *testing.T) {
	s := sim(config.Config{})
	all := 0
	for _, sub := range s.Subscribers() {
		if sub.Website == "https://news.example" {
			all++
		}
	}
	reached := func(variable, operator, value string) int {
		was := len(s.Outbox())
		rule, err := json.Marshal([]map[string]string{{"variable": variable, "operator": operator, "value": value}})
		if err != nil {
			t.Fatal(err)
		}
		if a := broadcastTo(t, s, `,"segment":`+string(rule)); a.status != 200 {
			t.Fatalf("%s: %d %v", operator, a.status, a.body)
		}
		return len(s.Outbox()) - was
	}
	// An operator and its contrary reach everyone between them.
	for _, c := range [][6]string{
		{"city", "==", "Austin", "city", "!=", "Austin"},
		{"city", "equals", "Austin", "city", "different", "Austin"},
		{"orders", "<", "9", "orders", ">=", "9"}, {"orders", "<=", "9", "orders", ">", "9"},
		{"plan", "exists", "", "plan", "not exists", ""},
		{"last_visit", "before", "2026-10-01T00:00:00Z", "last_visit", "after", "2026-09-30T23:59:59Z"},
		{"last_visit", "before n min ago", "60000", "last_visit", "after n min ago", "60000"},
	} {
		x, y := reached(c[0], c[1], c[2]), reached(c[3], c[4], c[5])
		if x+y != all || x == 0 || y == 0 {
			t.Errorf("%v: %d and %d of %d", c, x, y, all)
		}
	}
	if n := reached("city", "contains", "York"); n == 0 || n == all {
		t.Errorf("contains reaches %d of %d", n, all)
	}
	visit := s.Subscribers()[0].Variables["last_visit"]
	if reached("last_visit", "same day", visit) == 0 || reached("last_visit", "same hour", visit) == 0 {
		t.Error("a day or an hour is not the same as itself")
	}
	if len(push.Operators) != 17 {
		t.Errorf("%d operators", len(push.Operators))
	}
}

func TestBroadcast_IsSentAtItsTimeFollowedUpAndRetrieved(t *testing.T) {
	payload := `{"title":"From outside"}`
	server, cfg := imageHost(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(payload)) })
	s := sim(cfg)
	a := broadcastTo(t, s,
		`,"schedule":"2026-11-21T22:00:00Z","ndelay":5,"subwaterfall":{"interval":30,"enabled":true,`+
			`"title":"Again","Message":"m","destinationLink":"https://x.example/2","qsegment":[{"variable":"plan",`+
			`"operator":"exists","value":""}]},"external":"`+server.URL+`/x"`)
	if a.status != 200 || len(s.Outbox()) > 0 {
		t.Fatalf("%d %v, sent %d", a.status, a.body, len(s.Outbox()))
	}
	s.SetNow(noon.Add(3 * time.Hour))
	kinds := map[string]int{}
	for _, n := range s.Outbox() {
		kinds[n.Kind+" "+n.Title+" "+n.At.Format(time.RFC3339)]++
	}
	first, again := kinds["broadcast From outside 2026-11-21T22:00:00Z"], kinds["sub Again 2026-11-21T22:30:00Z"]
	if first == 0 || again == 0 || again >= first || len(kinds) != 2 {
		t.Errorf("sent %v", kinds)
	}
	payload = "no JSON"
	was := len(s.Outbox())
	broadcastTo(t, s, `,"external":"`+server.URL+`/x"`)
	if got := s.Outbox(); len(got) != was {
		t.Errorf("sent %d without a payload", len(got)-was)
	}
	broadcastTo(t, s, `,"externalerrors":true,"external":"`+server.URL+`/x"`)
	if got := s.Outbox(); len(got) == was || got[len(got)-1].Title != "T" {
		t.Errorf("not sent as it is: %v", got[len(got)-1])
	}
}
