package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/wire"
	"spendsync/extract/adsim/world"
)

// badPayload is the description's text for invalid JSON.
const badPayload = "Invalid request payload JSON format"

// payload is what a subscriber sees.
type payload struct {
	Title   string `json:"title"`
	Message string `json:"message"`
	Link    string `json:"link"`
	Icon    string `json:"icon"`
}

// campaignRequest is the body of the broadcast API.
type campaignRequest struct {
	payload
	Website        string          `json:"website"`
	Schedule       json.RawMessage `json:"schedule"`
	External       string          `json:"external"`
	ExternalErrors bool            `json:"externalerrors"`
	Delay          float64         `json:"ndelay"`
	Segment        []rule          `json:"segment"`
	Sub            *subRequest     `json:"subwaterfall"`
}

// subRequest is the sub-campaign, with the names that the description gives it.
type subRequest struct {
	Interval       *float64 `json:"interval"`
	Enabled        *bool    `json:"enabled"`
	Title          string   `json:"title"`
	Message        string   `json:"Message"`
	Link           string   `json:"destinationLink"`
	Icon           string   `json:"extIcon"`
	External       string   `json:"externalpush"`
	ExternalErrors bool     `json:"externalpusherrors"`
	Segment        []rule   `json:"qsegment"`
}

// broadcast is one that waits for its time.
type broadcast struct {
	id, kind, website string
	payload
	due            time.Time
	external       string
	externalErrors bool
	delay          time.Duration
	segment        []rule
	sub            *subRequest
}

// Broadcast is what became of a broadcast, or of its follow-up.
type Broadcast struct {
	ID         string    `json:"id"`
	Kind       string    `json:"kind"` // broadcast or sub
	Website    string    `json:"website"`
	At         time.Time `json:"at"` // when it was, or will be, sent
	Sent       bool      `json:"sent"`
	Recipients int       `json:"recipients"`
	Error      string    `json:"error,omitempty"` // of its external payload
}

// Broadcasts lists what became of the broadcasts, those sent first, then those that
// are scheduled.
func (s *Sender) Broadcasts() []Broadcast {
	s.sendDue()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(s.broadcasts)
	for _, b := range s.pending {
		out = append(out, Broadcast{ID: b.id, Kind: b.kind, Website: b.website, At: b.due})
	}
	return out
}

// sendMany answers the broadcast API.
func (s *Sender) sendMany(now time.Time, r *http.Request) wire.Reply {
	raw, err := wire.ReadBody(r)
	var in campaignRequest
	if err != nil || !json.Valid(raw) {
		return pushError(http.StatusBadRequest, badPayload)
	}
	if in, err = parseBroadcast(raw); err != nil {
		return pushError(http.StatusBadRequest, "Invalid request payload input: "+err.Error())
	}
	due, err := in.check(now)
	switch {
	case err != nil:
		return pushError(http.StatusBadRequest, "Invalid request payload input: "+err.Error())
	case !slices.Contains(s.world.Access.Websites(), in.Website):
		return pushError(http.StatusUnauthorized, "invalid token")
	}
	s.mu.Lock()
	id := s.accept(in, due)
	s.world.Record(world.Entry{Op: "push_broadcast", At: now, Body: raw})
	s.mu.Unlock()
	s.sendDue()
	return pushTaken(id)
}

// The names of the fields, which are case-sensitive: another spelling is an unknown
// field, and ignored as those are.
var (
	payloadNames   = []string{"title", "message", "link", "icon"}
	broadcastNames = slices.Concat(payloadNames, []string{
		"website", "schedule", "external", "externalerrors", "ndelay", "segment", "subwaterfall",
	})
	subNames = []string{
		"interval", "enabled", "title", "Message", "destinationLink", "extIcon", "externalpush", "externalpusherrors",
		"qsegment",
	}
	ruleNames = []string{"variable", "operator", "value"}
)

// parseBroadcast reads the body of a broadcast.
func parseBroadcast(raw []byte) (in campaignRequest, err error) {
	err = json.Unmarshal(exactNames(raw, broadcastNames), &in)
	return in, err
}

// exactNames returns a body without the fields whose names differ from a known one only in case,
// because the decoder would accept them as that field. Fields within a segment or a sub-campaign
// are checked against the names of those objects.
func exactNames(raw []byte, names []string) []byte {
	body, ok := jsontext.ParseTree(raw)
	if !ok {
		return raw
	}
	keepExact(body, names)
	sub := body.Get("subwaterfall")
	keepExact(sub, subNames)
	for _, segment := range []*jsontext.Node{body.Get("segment"), sub.Get("qsegment")} {
		for _, r := range segment.Elements() {
			keepExact(r, ruleNames)
		}
	}
	return body.Append(nil)
}

// keepExact drops the members whose keys differ from a name in case alone.
func keepExact(n *jsontext.Node, names []string) {
	if n == nil || n.Kind != '{' {
		return
	}
	for _, raw := range slices.Clone(n.Keys) {
		var key string
		if json.Unmarshal([]byte(`"`+raw+`"`), &key) != nil || slices.Contains(names, key) {
			continue
		}
		if slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, key) }) {
			n.Drop(raw)
		}
	}
}

// accept puts a broadcast among those that wait; s.mu is held.
func (s *Sender) accept(in campaignRequest, due time.Time) string {
	s.numbers++
	id := "push_" + strconv.Itoa(s.numbers)
	s.pending = append(s.pending, &broadcast{
		id: id, kind: "broadcast", website: in.Website, payload: in.payload, due: due, external: in.External,
		externalErrors: in.ExternalErrors,
		delay:          time.Duration(in.Delay * float64(time.Minute)), segment: in.Segment, sub: in.Sub,
	})
	return id
}

// check refuses an incomplete body, and returns when it is due.
func (in *campaignRequest) check(now time.Time) (due time.Time, err error) {
	due = now
	switch {
	case in.Website == "" || in.Title == "" || in.Message == "" || in.Link == "":
		return due, errors.New("website, title, message and link are required")
	case !jsontext.IsWebURL(in.Link) || in.Icon != "" && !jsontext.IsWebURL(in.Icon):
		return due, errors.New("link and icon must be URLs")
	case in.External != "" && !jsontext.IsWebURL(in.External):
		return due, errors.New("external must be a URL")
	case in.Delay < 0:
		return due, fmt.Errorf("ndelay %v is negative", in.Delay)
	}
	for i := range in.Segment {
		if err := in.Segment[i].check(); err != nil {
			return due, fmt.Errorf("segment[%d]: %w", i, err)
		}
	}
	if len(in.Schedule) > 0 && string(in.Schedule) != "null" {
		at, err := scheduleOf(in.Schedule)
		if err != nil {
			return due, err
		}
		if at.After(now) {
			due = at
		}
	}
	if in.Sub != nil {
		if err := in.Sub.check(); err != nil {
			return due, fmt.Errorf("subwaterfall: %w", err)
		}
	}
	return due, nil
}

func (in *subRequest) check() error {
	switch {
	case in.Interval == nil || in.Enabled == nil || in.Title == "" || in.Message == "" || in.Link == "":
		return errors.New("interval, enabled, title, Message and destinationLink are required")
	case *in.Interval < 0:
		return fmt.Errorf("interval %v is negative", *in.Interval)
	case !jsontext.IsWebURL(in.Link) || in.Icon != "" && !jsontext.IsWebURL(in.Icon) || in.External != "" &&
		!jsontext.IsWebURL(in.External):
		return errors.New("destinationLink, extIcon and externalpush must be URLs")
	}
	for i := range in.Segment {
		if err := in.Segment[i].check(); err != nil {
			return fmt.Errorf("qsegment[%d]: %w", i, err)
		}
	}
	return nil
}

// followUp is the sub-campaign of a broadcast that was sent: to those of its segment
// that the sub-campaign's own rules keep.
func (b *broadcast) followUp() *broadcast {
	sub := b.sub
	if sub == nil || !*sub.Enabled {
		return nil
	}
	return &broadcast{
		id: b.id, kind: "sub", website: b.website, payload: payload{sub.Title, sub.Message, sub.Link, sub.Icon},
		due: b.due.Add(time.Duration(*sub.Interval * float64(time.Minute))), external: sub.External,
		externalErrors: sub.ExternalErrors,
		delay:          b.delay, segment: slices.Concat(b.segment, sub.Segment),
	}
}

// sendDue sends the broadcasts that are due, in the order of their times.
func (s *Sender) sendDue() {
	now := s.world.Clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		at := -1
		for i, b := range s.pending {
			if !b.due.After(now) && (at < 0 || b.due.Before(s.pending[at].due)) {
				at = i
			}
		}
		if at < 0 {
			return
		}
		out := s.outcomeOf(s.pending[at])
		s.sendNow(at, out)
		s.world.Record(world.Entry{Op: "push_delivered", At: now, What: world.What(out)})
	}
}

// outcome is the result of sending a broadcast.
type outcome struct {
	ID      string  `json:"id"`
	Kind    string  `json:"kind"`
	Payload payload `json:"payload"`
	Error   string  `json:"error,omitempty"` // of the external payload
}

// outcomeOf retrieves the external payload, if there is one.
func (s *Sender) outcomeOf(b *broadcast) outcome {
	out := outcome{ID: b.id, Kind: b.kind, Payload: b.payload}
	if b.external == "" {
		return out
	}
	got, err := s.retrieve(b.external, b.payload)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	out.Payload = got
	return out
}

// sendNow sends the pending broadcast at an index to its entire segment. If its payload can't be
// retrieved, nothing is sent, unless the broadcast is to be sent regardless.
func (s *Sender) sendNow(at int, out outcome) {
	b := s.pending[at]
	s.pending = slices.Delete(s.pending, at, at+1)
	told := Broadcast{ID: b.id, Kind: b.kind, Website: b.website, At: b.due, Error: out.Error, Sent: out.Error == "" ||
		b.externalErrors}
	if told.Sent {
		told.Recipients = s.deliver(b, out.Payload)
		if next := b.followUp(); next != nil {
			s.pending = append(s.pending, next)
		}
	}
	s.broadcasts = append(s.broadcasts, told)
}

// Redo makes the change of a line again. It reports false for one of another room.
func (s *Sender) Redo(line *world.Entry) (known bool, err error) {
	switch line.Op {
	case "push_subscribe":
		err = world.RedoWhat(line, s.Subscribe)
	case "push_empty":
		s.ResetOutbox()
	case "push_sent":
		err = world.RedoWhat(line, func(n Notification) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.outbox = append(s.outbox, n)
			s.numbers++
			return nil
		})
	case "push_broadcast":
		err = s.redoBroadcast(line)
	case "push_delivered":
		err = world.RedoWhat(line, s.redoDelivery)
	default:
		return false, nil
	}
	return true, err
}

func (s *Sender) redoBroadcast(line *world.Entry) error {
	in, err := parseBroadcast(line.Body)
	if err != nil {
		return err
	}
	due, err := in.check(line.At)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accept(in, due)
	return nil
}

func (s *Sender) redoDelivery(out outcome) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, b := range s.pending {
		if b.id == out.ID && b.kind == out.Kind {
			s.sendNow(at, out)
			return nil
		}
	}
	return fmt.Errorf("%s does not wait", out.ID)
}

// deliver puts a notification into the outbox for everyone who is meant.
func (s *Sender) deliver(b *broadcast, what payload) (n int) {
	for i := range s.subscribers {
		sub := &s.subscribers[i]
		if sub.Website != b.website || sub.SubscribedAt.After(b.due.Add(-b.delay)) ||
			slices.ContainsFunc(b.segment, func(r rule) bool { return !r.matches(sub, b.due) }) {
			continue
		}
		s.outbox = append(s.outbox, Notification{At: b.due, Kind: b.kind, Campaign: b.id, Website: b.website,
			PSID: sub.PSID, CSID: sub.CSID,
			Title: what.Title, Message: what.Message, Link: what.Link, Icon: what.Icon})
		n++
	}
	return n
}

// retrieve gets the payload of an external address: a JSON object with any of title,
// message, link and icon.
func (s *Sender) retrieve(from string, what payload) (payload, error) {
	raw, err := s.files.Fetch(context.Background(), from, 64<<10, "http", "https")
	if err != nil {
		return what, err
	}
	if err := json.Unmarshal(exactNames(raw, payloadNames), &what); err != nil {
		return what, errors.New("the external payload is no JSON object of texts")
	}
	if what.Title == "" || what.Message == "" || !jsontext.IsWebURL(what.Link) ||
		what.Icon != "" && !jsontext.IsWebURL(what.Icon) {
		return what, errors.New("the external payload has no title, message or link")
	}
	return what, nil
}
