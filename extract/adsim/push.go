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

// PushPrefix is where the push sending APIs are mounted.
const PushPrefix = "/push"

// DefaultPushToken is what the authorization header has to hold where a Config
// names nothing else.
const DefaultPushToken = "push_sim_token"

const (
	transactionalPath = PushPrefix + "/api/push/v2/transactional/"
	broadcastPath     = PushPrefix + "/api/push/v2/campaign"
)

// pushState is what was sent, and what is still to be.
type pushState struct {
	mu          sync.Mutex
	subscribers []Subscriber
	pending     []*broadcast
	broadcasts  []Broadcast
	outbox      []Notification
	numbers     int
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
func (s *Service) Outbox() []Notification {
	s.sendDue()
	s.push.mu.Lock()
	defer s.push.mu.Unlock()
	return slices.Clone(s.push.outbox)
}

// ResetOutbox empties the outbox. What is scheduled stays so.
func (s *Service) ResetOutbox() {
	if !s.replaying() {
		s.sendDue()
	}
	s.push.mu.Lock()
	defer s.push.mu.Unlock()
	s.push.outbox, s.push.broadcasts = nil, nil
	s.record(journalLine{Op: "push_empty"})
}

// servePush answers the push sending APIs.
func (s *Service) servePush(st *state, r *http.Request) reply {
	campaign, transactional := strings.CutPrefix(r.URL.Path, transactionalPath)
	switch {
	case !transactional && r.URL.Path != broadcastPath:
		return pushError(http.StatusNotFound, "Not Found")
	case r.Method != http.MethodPost:
		rep := pushError(http.StatusMethodNotAllowed, "Method Not Allowed")
		rep.header.Set("Allow", http.MethodPost)
		return rep
	}
	own := s.tokenOf(r.Header.Get("Authorization"))
	switch {
	case own == nil:
		return pushError(http.StatusUnauthorized, "invalid token")
	case transactional:
		return own.sendOne(st.now, campaign, r)
	}
	return own.sendMany(st.now, r)
}

// tokenOf finds the account of a token.
func (s *Service) tokenOf(authorization string) *Service {
	token := strings.TrimPrefix(authorization, "Bearer ")
	for _, own := range s.accounts {
		if same(token, own.cfg.PushToken) {
			return own
		}
	}
	return nil
}

// pushError is the error body of the push sending APIs.
func pushError(status int, message string) reply {
	o := object{}
	o.begin("")
	o.int("statusCode", int64(status))
	o.str("error", http.StatusText(status))
	o.str("message", message)
	o.end()
	return jsonReply(status, o.dst)
}

// pushTaken is the reply to what was taken.
func pushTaken(id string) reply {
	o := object{}
	o.begin("")
	o.int("statusCode", http.StatusOK)
	o.str("message", "request received")
	o.str("id", id)
	o.end()
	return jsonReply(http.StatusOK, o.dst)
}

var pushCampaignForm = regexp.MustCompile(`^[A-Za-z0-9_.~-]{1,100}$`)

// sendOne answers the transactional API: one notification to one subscriber.
func (s *Service) sendOne(now time.Time, campaign string, r *http.Request) reply {
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
	s.push.mu.Lock()
	defer s.push.mu.Unlock()
	sub := s.push.find(n.PSID, n.CSID)
	if sub == nil {
		return pushError(http.StatusNotFound, "subscriber not found")
	}
	n.PSID, n.CSID, n.Website = sub.PSID, sub.CSID, sub.Website
	s.push.outbox = append(s.push.outbox, n)
	s.record(journalLine{Op: "push_sent", At: now, Sent: &n})
	s.push.numbers++
	return pushTaken("push_" + strconv.Itoa(s.push.numbers))
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
func (p *pushState) find(psid, csid string) *Subscriber {
	for i := range p.subscribers {
		sub := &p.subscribers[i]
		if psid != "" && sub.PSID == psid || psid == "" && sub.CSID == csid {
			return sub
		}
	}
	return nil
}

var webURLForm = regexp.MustCompile(`^https?://` + notBlank + `+$`)

func isWebURL(text string) bool {
	_, host, _ := strings.Cut(text, "://")
	return webURLForm.MatchString(text) && !strings.HasPrefix(host, "/")
}
