// Package push answers the push sending APIs: the transactional one, for one subscriber, and the broadcast one, for
// the subscribers of a website.
package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"spendsync/extract/adsim/fetch"
	"spendsync/extract/adsim/tree"
	"spendsync/extract/adsim/wire"
	"spendsync/extract/adsim/world"
)

const (
	transactionalPath = wire.PushPrefix + "/api/push/v2/transactional/"
	broadcastPath     = wire.PushPrefix + "/api/push/v2/campaign"
)

// Sender holds the subscribers of one account, and the sent and the scheduled notifications.
type Sender struct {
	world       *world.World
	files       *fetch.Fetcher
	subscribers []Subscriber

	mu      sync.Mutex
	pending []*broadcast
	outbox  []Notification
	numbers int
}

func NewSender(w *world.World, files *fetch.Fetcher) *Sender {
	return &Sender{world: w, files: files, subscribers: seededSubscribers(w.Account.Seed)}
}

// Notification is one that was sent to one subscriber.
type Notification struct {
	At       time.Time `json:"at"`
	Kind     string    `json:"kind"`     // transactional, broadcast, or sub for a follow-up
	Campaign string    `json:"campaign"` // of the path, or the broadcast's ID
	Website  string    `json:"website"`
	PSID     string    `json:"psid"`
	CSID     string    `json:"csid,omitempty"`
	payload
}

// payload is what a subscriber sees.
type payload struct {
	Title   string `json:"title"`
	Message string `json:"message"`
	Link    string `json:"link"`
	Icon    string `json:"icon,omitempty"`
}

// check refuses what can't be shown.
func (p *payload) check() error {
	switch {
	case p.Title == "" || p.Message == "" || p.Link == "":
		return errors.New("title, message and link are required")
	case !wire.IsWebURL(p.Link):
		return errors.New("link must be a URL")
	}
	return p.checkIcon()
}

// checkIcon refuses an icon that is no URL.
func (p *payload) checkIcon() error {
	if p.Icon != "" && !wire.IsWebURL(p.Icon) {
		return errors.New("icon must be a URL")
	}
	return nil
}

// Outbox lists the notifications sent until now, oldest first.
func (s *Sender) Outbox() []Notification {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sendDue()
	return slices.Clone(s.outbox)
}

// Serve answers the push sending APIs for the accounts of a service.
func Serve(accounts []*Sender, now time.Time, r *http.Request) wire.Reply {
	campaign, transactional := strings.CutPrefix(r.URL.Path, transactionalPath)
	switch {
	case transactional && (campaign == "" || strings.Contains(campaign, "/")),
		!transactional && r.URL.Path != broadcastPath:
		return refuse(http.StatusNotFound, "Not Found")
	case r.Method != http.MethodPost:
		rep := refuse(http.StatusMethodNotAllowed, "Method Not Allowed")
		rep.Header.Set("Allow", http.MethodPost)
		return rep
	}
	token := r.Header.Get("Authorization") // without the word Bearer
	for _, own := range accounts {
		switch {
		case !world.Same(token, own.world.Cfg.PushToken):
		case transactional:
			return own.sendOne(now, campaign, r)
		default:
			return own.sendMany(now, r)
		}
	}
	return refuse(http.StatusUnauthorized, "invalid token")
}

// refuse returns the error body of the push sending APIs.
func refuse(status int, message string) wire.Reply {
	return wire.JSONReply(status, tree.Marshal(map[string]any{"statusCode": status, "error": http.StatusText(status),
		"message": message}))
}

// taken gives an accepted notification its ID, and returns the reply; s.mu is held.
func (s *Sender) taken() (id string, rep wire.Reply) {
	s.numbers++
	id = "push_" + strconv.Itoa(s.numbers)
	return id, wire.JSONReply(http.StatusOK, tree.Marshal(map[string]any{"statusCode": http.StatusOK,
		"message": "request received", "id": id}))
}

// sendOne answers the transactional API: a form, multipart or not.
func (s *Sender) sendOne(now time.Time, campaign string, r *http.Request) wire.Reply {
	r.Body = http.MaxBytesReader(nil, r.Body, wire.MostBody)
	err := r.ParseForm()
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "multipart/form-data" {
		err = r.ParseMultipartForm(wire.MostBody)
	}
	if err != nil {
		return refuse(http.StatusBadRequest, "the form can't be read")
	}
	field := r.PostForm.Get
	n := Notification{At: now, Kind: "transactional", Campaign: campaign, PSID: field("psid"), CSID: field("csid"),
		payload: payload{field("title"), field("message"), field("link"), field("icon")}}
	if n.PSID == "" && n.CSID == "" {
		return refuse(http.StatusBadRequest, "psid or csid is required")
	}
	if n.Title == "" || n.Message == "" || n.Link == "" { // any text is a link here
		return refuse(http.StatusBadRequest, "title, message and link are required")
	}
	if err := n.checkIcon(); err != nil {
		return refuse(http.StatusBadRequest, err.Error())
	}
	for i := range s.subscribers {
		if sub := &s.subscribers[i]; n.PSID == sub.PSID || n.PSID == "" && n.CSID == sub.CSID {
			s.mu.Lock()
			defer s.mu.Unlock()
			n.PSID, n.CSID, n.Website = sub.PSID, sub.CSID, sub.Website
			s.outbox = append(s.outbox, n)
			_, rep := s.taken()
			return rep
		}
	}
	return refuse(http.StatusNotFound, "subscriber not found")
}

// request is the body of the broadcast API.
type request struct {
	payload
	Website        string          `json:"website"`
	Schedule       json.RawMessage `json:"schedule"`
	External       string          `json:"external"`
	ExternalErrors bool            `json:"externalerrors"`
	Delay          float64         `json:"ndelay"`
	Segment        []rule          `json:"segment"`
	Sub            *followUp       `json:"subwaterfall"`
}

// followUp is the sub-campaign, with the names that the description gives it.
type followUp struct {
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
	id, kind string
	due      time.Time
	request
}

// sendMany answers the broadcast API.
func (s *Sender) sendMany(now time.Time, r *http.Request) wire.Reply {
	raw, err := wire.ReadBody(r)
	if err != nil || !json.Valid(raw) {
		return refuse(http.StatusBadRequest, "Invalid request payload JSON format")
	}
	b := &broadcast{kind: "broadcast", due: now}
	err = json.Unmarshal(raw, &b.request)
	if err == nil {
		err = b.check(now)
	}
	switch {
	case err != nil:
		return refuse(http.StatusBadRequest, "Invalid request payload input: "+err.Error())
	case !slices.Contains(websites, b.Website):
		return refuse(http.StatusUnauthorized, "invalid token")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id, rep := s.taken()
	b.id = id
	s.pending = append(s.pending, b)
	s.sendDue()
	return rep
}

// check refuses an incomplete body, and finds when it is due.
func (b *broadcast) check(now time.Time) error {
	if b.Website == "" {
		return errors.New("website is required")
	}
	if err := b.request.check(); err != nil {
		return err
	}
	if len(b.Schedule) > 0 && string(b.Schedule) != "null" {
		at, ok := dateOf(strings.Trim(string(b.Schedule), `"`))
		if !ok {
			return fmt.Errorf("schedule %s: expected an ISO 8601 date or a timestamp", b.Schedule)
		}
		if at.After(now) {
			b.due = at
		}
	}
	sub := b.Sub
	if sub == nil {
		return nil
	}
	if sub.Interval == nil || sub.Enabled == nil || *sub.Interval < 0 {
		return errors.New("subwaterfall: interval (not below 0) and enabled are required")
	}
	if err := b.next().request.check(); err != nil {
		return fmt.Errorf("subwaterfall: %w", err)
	}
	return nil
}

// check refuses a request that can't be sent.
func (in *request) check() error {
	if err := in.payload.check(); err != nil {
		return err
	}
	if in.External != "" && !wire.IsWebURL(in.External) || in.Delay < 0 {
		return errors.New("external must be a URL, ndelay not below 0")
	}
	for i := range in.Segment {
		if err := in.Segment[i].check(); err != nil {
			return fmt.Errorf("segment[%d]: %w", i, err)
		}
	}
	return nil
}

// next is the follow-up of a broadcast: to those of its segment that the follow-up's own rules keep.
func (b *broadcast) next() *broadcast {
	sub := b.Sub
	return &broadcast{
		id: b.id, kind: "sub", due: b.due.Add(time.Duration(*sub.Interval * float64(time.Minute))),
		request: request{payload: payload{sub.Title, sub.Message, sub.Link, sub.Icon}, Website: b.Website,
			External: sub.External, ExternalErrors: sub.ExternalErrors, Delay: b.Delay,
			Segment: slices.Concat(b.Segment, sub.Segment)},
	}
}

// sendDue sends the broadcasts that are due, in the order of their times; s.mu is held.
func (s *Sender) sendDue() {
	now := s.world.Clock.Now()
	for len(s.pending) > 0 {
		slices.SortStableFunc(s.pending, func(x, y *broadcast) int { return x.due.Compare(y.due) })
		b := s.pending[0]
		if b.due.After(now) {
			return
		}
		s.pending = s.pending[1:]
		what, err := b.payload, error(nil)
		if b.External != "" {
			what, err = s.retrieve(b.External, what)
		}
		if err != nil && !b.ExternalErrors {
			continue // without its payload nothing is sent
		}
		s.deliver(b, what)
		if b.Sub != nil && *b.Sub.Enabled {
			s.pending = append(s.pending, b.next())
		}
	}
}

// deliver puts a notification into the outbox for everyone who is meant.
func (s *Sender) deliver(b *broadcast, what payload) {
	for i := range s.subscribers {
		sub := &s.subscribers[i]
		late := sub.SubscribedAt.After(b.due.Add(-time.Duration(b.Delay * float64(time.Minute))))
		if sub.Website != b.Website || late ||
			slices.ContainsFunc(b.Segment, func(r rule) bool { return !r.matches(sub, b.due) }) {
			continue
		}
		s.outbox = append(s.outbox, Notification{At: b.due, Kind: b.kind, Campaign: b.id, Website: b.Website,
			PSID: sub.PSID, CSID: sub.CSID, payload: what})
	}
}

// retrieve gets the payload of an external address: a JSON object with any of title, message, link and icon.
func (s *Sender) retrieve(from string, what payload) (payload, error) {
	got := what
	raw, err := s.files.Fetch(context.Background(), from, 64<<10, "http", "https")
	if err == nil {
		err = json.Unmarshal(raw, &got)
	}
	if err == nil {
		err = got.check()
	}
	if err != nil {
		return what, err
	}
	return got, nil
}
