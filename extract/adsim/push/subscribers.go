package push

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/world"
)

// Subscriber gets the notifications of a website.
type Subscriber struct {
	PSID         string            `json:"psid"`
	CSID         string            `json:"csid,omitempty"` // the alternative ID, where there is one
	Website      string            `json:"website"`
	SubscribedAt time.Time         `json:"subscribed_at"`
	Variables    map[string]string `json:"variables,omitempty"`
}

// lastSubscribed is a time after all subscriptions of the seed.
var lastSubscribed = time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)

// seededSubscribers are those that an account has by itself.
func seededSubscribers(cfg *config.Config, seed uint64) (list []Subscriber) {
	cities := []string{"New York", "Chicago", "Austin", "Denver", "Miami"}
	for w, website := range cfg.Websites {
		for i := range cfg.Subscribers {
			h := chance.Hash(seed, chance.AboutSubscriber, uint64(w), uint64(i))
			sub := Subscriber{PSID: jsontext.Hex24(h), Website: website,
				SubscribedAt: lastSubscribed.Add(-time.Duration(chance.Below(chance.Mix(h), 600*24*60)) * time.Minute)}
			if h%3 > 0 {
				sub.CSID = "customer-" + strconv.Itoa(w*100_000+i)
			}
			sub.Variables = map[string]string{
				"city":   cities[chance.Below(chance.Mix(h+1), uint64(len(cities)))],
				"orders": strconv.Itoa(int(chance.Below(chance.Mix(h+2), 20))),
				"last_visit": lastSubscribed.Add(-time.Duration(chance.Below(chance.Mix(h+3), 60*24*60)) * time.Minute).
					Format(time.RFC3339),
			}
			if h>>8%2 == 0 {
				sub.Variables["plan"] = "premium"
			}
			list = append(list, sub)
		}
	}
	return list
}

// Subscribers lists the account's subscribers.
func (s *Sender) Subscribers() []Subscriber {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(s.subscribers)
	for i := range out {
		out[i].Variables = maps.Clone(out[i].Variables)
	}
	return out
}

// Subscribe adds a subscriber, or replaces the one of its PSID.
func (s *Sender) Subscribe(sub Subscriber) error {
	switch {
	case sub.PSID == "":
		return errors.New("subscriber: a psid is required")
	case !slices.Contains(s.world.Access.Websites(), sub.Website):
		return fmt.Errorf("subscriber %s: no website %q", sub.PSID, sub.Website)
	}
	sub.Variables = maps.Clone(sub.Variables)
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.subscribers, func(o Subscriber) bool { return o.PSID == sub.PSID })
	if i < 0 {
		s.subscribers = append(s.subscribers, sub)
	} else {
		s.subscribers[i] = sub
	}
	s.world.Record(world.Entry{Op: "push_subscribe", What: world.What(sub)})
	return nil
}
