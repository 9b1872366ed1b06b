package adsim

import (
	"sync"
	"testing"
	"time"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/wire"
)

// pageOf returns the query for a page of ten rows of yesterday.
func pageOf(page int) string { return finest(yesterday) + "&page_size=10&page=" + itoa(page) }

func TestService_MayBeUsedByManyAtOnce(t *testing.T) {
	s := sim(config.Config{RowsPerDay: 300, RateLimit: -1})
	var wait sync.WaitGroup
	id := s.CampaignIDs()[0]
	for worker := range 8 {
		wait.Go(func() {
			for i := range 5 {
				switch worker {
				case 0:
					s.Advance(time.Hour)
				case 1:
					if err := s.Restate(yesterday, ledger.Restatement{Kind: "delete", Row: i}); err != nil {
						t.Error(err)
					}
				case 2:
					s.Fail(wire.Fault{Kind: wire.Drop, Times: 1})
					callAPI(t, s, "/v1/campaigns")
				case 3:
					for range s.Truth(yesterday) {
						_ = s.Requests()
						break
					}
					callAPI(t, s, "/v1/balance")
				case 4:
					made := create(t, s, Change{Set: map[string]any{"name": itoa(i)}})
					create(t, s, Change{Campaign: made})
					change(t, s, Change{Campaign: id, Set: map[string]any{"name": itoa(i)}})
				case 5:
					settingsOf(t, s, id)
					callAPI(t, s, "/v1/campaigns/"+id)
					callAPI(t, s, "/v1/campaigns/"+id+"/sources")
					callAPI(t, s, "/v1/campaigns/"+id+"/creatives")
				default:
					ask(t, s, pageOf(i+1))
					ask(t, s, oneDay(yesterday)+"&columns=source_id,total_spend")
				}
			}
		})
	}
	wait.Wait()
}
