package adsim

import (
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	transactionalPath = PushPrefix + "/api/push/v2/transactional/"
	broadcastPath     = PushPrefix + "/api/push/v2/campaign"
)

// sender is what one account has sent, and what is scheduled.
type sender struct {
	world *world
	files *fetcher

	mu          sync.Mutex
	subscribers []Subscriber
	pending     []*broadcast
	broadcasts  []Broadcast
	outbox      []Notification
	numbers     int
}

func newSender(w *world, files *fetcher) *sender {
	return &sender{world: w, files: files, subscribers: seededSubscribers(&w.cfg, w.account.seed)}
}

// reset restores the subscribers, and drops everything that was sent or scheduled.
func (s *sender) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers = seededSubscribers(&s.world.cfg, s.world.account.seed)
	s.pending, s.broadcasts, s.outbox, s.numbers = nil, nil, nil, 0
}

// counts returns the numbers of subscribers, sent and scheduled notifications.
func (s *sender) counts() (subscribers, sent, scheduled int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.subscribers), len(s.outbox), len(s.pending)
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

// Outbox lists what was sent until now, oldest first.
func (s *sender) Outbox() []Notification {
	s.sendDue()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.outbox)
}

// ResetOutbox empties the outbox. What is scheduled stays so.
func (s *sender) ResetOutbox() {
	if !s.world.journal.replaying() {
		s.sendDue()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outbox, s.broadcasts = nil, nil
	s.world.record(journalLine{Op: "push_empty"})
}

// servePush answers the push sending APIs for the accounts of a service.
func servePush(accounts []*sender, now time.Time, r *http.Request) reply {
	campaign, transactional := strings.CutPrefix(r.URL.Path, transactionalPath)
	switch {
	case !transactional && r.URL.Path != broadcastPath:
		return pushError(http.StatusNotFound, "Not Found")
	case r.Method != http.MethodPost:
		rep := pushError(http.StatusMethodNotAllowed, "Method Not Allowed")
		rep.header.Set("Allow", http.MethodPost)
		return rep
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	for _, own := range accounts {
		switch {
		case !same(token, own.world.cfg.PushToken):
		case transactional:
			return own.sendOne(now, campaign, r)
		default:
			return own.sendMany(now, r)
		}
	}
	return pushError(http.StatusUnauthorized, "invalid token")
}

// pushError returns the error body of the push sending APIs.
func pushError(status int, message string) reply {
	return jsonReply(status, marshal(struct {
		Status  int    `json:"statusCode"`
		Error   string `json:"error"`
		Message string `json:"message"`
	}{status, http.StatusText(status), message}))
}

// pushTaken returns the reply to an accepted notification.
func pushTaken(id string) reply {
	return jsonReply(http.StatusOK, marshal(struct {
		Status  int    `json:"statusCode"`
		Message string `json:"message"`
		ID      string `json:"id"`
	}{http.StatusOK, "request received", id}))
}

var pushCampaignForm = regexp.MustCompile(`^[A-Za-z0-9_.~-]{1,100}$`)

// sendOne answers the transactional API: one notification to one subscriber.
func (s *sender) sendOne(now time.Time, campaign string, r *http.Request) reply {
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
	case !isWebURL(n.Link) || n.Icon != "" && !isWebURL(n.Icon):
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
	s.world.record(journalLine{Op: "push_sent", At: now, What: what(n)})
	s.numbers++
	return pushTaken("push_" + strconv.Itoa(s.numbers))
}

// pushForm reads the fields of a form, multipart or not.
func pushForm(r *http.Request) (field func(string) string, message string) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	r.Body = http.MaxBytesReader(nil, r.Body, mostBody)
	var err error
	switch kind {
	case "multipart/form-data":
		err = r.ParseMultipartForm(mostBody)
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
func (s *sender) find(psid, csid string) *Subscriber {
	for i := range s.subscribers {
		sub := &s.subscribers[i]
		if psid != "" && sub.PSID == psid || psid == "" && sub.CSID == csid {
			return sub
		}
	}
	return nil
}
