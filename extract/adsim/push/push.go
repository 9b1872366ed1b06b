package push

import (
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"spendsync/extract/adsim/fetch"
	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/wire"
	"spendsync/extract/adsim/world"
)

const (
	transactionalPath = wire.PushPrefix + "/api/push/v2/transactional/"
	broadcastPath     = wire.PushPrefix + "/api/push/v2/campaign"
)

// Sender holds the sent and the scheduled notifications of one account.
type Sender struct {
	world *world.World
	files *fetch.Fetcher

	mu          sync.Mutex
	subscribers []Subscriber
	pending     []*broadcast
	broadcasts  []Broadcast
	outbox      []Notification
	numbers     int
}

func NewSender(w *world.World, files *fetch.Fetcher) *Sender {
	return &Sender{world: w, files: files, subscribers: seededSubscribers(&w.Cfg, w.Account.Seed)}
}

// Reset restores the subscribers, and drops everything that was sent or scheduled.
func (s *Sender) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers = seededSubscribers(&s.world.Cfg, s.world.Account.Seed)
	s.pending, s.broadcasts, s.outbox, s.numbers = nil, nil, nil, 0
}

// Notification is one that was sent to one subscriber.
type Notification struct {
	At       time.Time `json:"at"`
	Kind     string    `json:"kind"`     // transactional, broadcast, or sub for a follow-up
	Campaign string    `json:"campaign"` // of the path, or the broadcast's ID
	Website  string    `json:"website"`
	PSID     string    `json:"psid"`
	CSID     string    `json:"csid,omitempty"`
	Title    string    `json:"title"`
	Message  string    `json:"message"`
	Link     string    `json:"link"`
	Icon     string    `json:"icon,omitempty"`
}

// Outbox lists the notifications sent until now, oldest first.
func (s *Sender) Outbox() []Notification {
	s.sendDue()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.outbox)
}

// ResetOutbox empties the outbox. What is scheduled stays so.
func (s *Sender) ResetOutbox() {
	if !s.world.Journal.Replaying() {
		s.sendDue()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outbox, s.broadcasts = nil, nil
	s.world.Record(world.Entry{Op: "push_empty"})
}

// Serve answers the push sending APIs for the accounts of a service.
func Serve(accounts []*Sender, now time.Time, r *http.Request) wire.Reply {
	campaign, transactional := strings.CutPrefix(r.URL.Path, transactionalPath)
	switch {
	case !transactional && r.URL.Path != broadcastPath:
		return pushError(http.StatusNotFound, "Not Found")
	case r.Method != http.MethodPost:
		rep := pushError(http.StatusMethodNotAllowed, "Method Not Allowed")
		rep.Header.Set("Allow", http.MethodPost)
		return rep
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	for _, own := range accounts {
		switch {
		case !world.Same(token, own.world.Cfg.PushToken):
		case transactional:
			return own.sendOne(now, campaign, r)
		default:
			return own.sendMany(now, r)
		}
	}
	return pushError(http.StatusUnauthorized, "invalid token")
}

// pushError returns the error body of the push sending APIs.
func pushError(status int, message string) wire.Reply {
	return wire.JSONReply(status, jsontext.Marshal(struct {
		Status  int    `json:"statusCode"`
		Error   string `json:"error"`
		Message string `json:"message"`
	}{status, http.StatusText(status), message}))
}

// pushTaken returns the reply to an accepted notification.
func pushTaken(id string) wire.Reply {
	return wire.JSONReply(http.StatusOK, jsontext.Marshal(struct {
		Status  int    `json:"statusCode"`
		Message string `json:"message"`
		ID      string `json:"id"`
	}{http.StatusOK, "request received", id}))
}

var pushCampaignForm = regexp.MustCompile(`^[A-Za-z0-9_.~-]{1,100}$`)

// sendOne answers the transactional API: one notification to one subscriber.
func (s *Sender) sendOne(now time.Time, campaign string, r *http.Request) wire.Reply {
	if !pushCampaignForm.MatchString(campaign) {
		return pushError(http.StatusNotFound, "campaign not found")
	}
	form, message := pushForm(r)
	if message != "" {
		return pushError(http.StatusBadRequest, message)
	}
	n := Notification{At: now, Kind: "transactional", Campaign: campaign, Title: form("title"),
		Message: form("message"), Link: form("link"), Icon: form("icon"), PSID: form("psid"), CSID: form("csid")}
	switch {
	case n.PSID == "" && n.CSID == "":
		return pushError(http.StatusBadRequest, "psid or csid is required")
	case n.Title == "" || n.Message == "" || n.Link == "":
		return pushError(http.StatusBadRequest, "title, message and link are required")
	case !jsontext.IsWebURL(n.Link) || n.Icon != "" && !jsontext.IsWebURL(n.Icon):
		return pushError(http.StatusBadRequest, "link and icon must be URLs")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.find(n.PSID, n.CSID)
	if sub == nil {
		return pushError(http.StatusNotFound, "subscriber not found")
	}
	n.PSID, n.CSID, n.Website = sub.PSID, sub.CSID, sub.Website
	s.outbox = append(s.outbox, n)
	s.world.Record(world.Entry{Op: "push_sent", At: now, What: world.What(n)})
	s.numbers++
	return pushTaken("push_" + strconv.Itoa(s.numbers))
}

// pushForm reads the fields of a form, multipart or not.
func pushForm(r *http.Request) (field func(string) string, message string) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	r.Body = http.MaxBytesReader(nil, r.Body, wire.MostBody)
	var err error
	switch kind {
	case "multipart/form-data":
		err = r.ParseMultipartForm(wire.MostBody)
	case "application/x-www-form-urlencoded":
		err = r.ParseForm()
	default:
		return nil, "expected multipart/form-data"
	}
	if err != nil {
		return nil, "the form can't be read"
	}
	return func(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }, ""
}

// find finds a subscriber by the one ID or the other.
func (s *Sender) find(psid, csid string) *Subscriber {
	for i := range s.subscribers {
		sub := &s.subscribers[i]
		if psid != "" && sub.PSID == psid || psid == "" && sub.CSID == csid {
			return sub
		}
	}
	return nil
}
