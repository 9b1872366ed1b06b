package adsim_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"time"

	"spendsync/extract/adsim"
)

// A test sets the clock, restates a day, lets one request fail, and compares what it copied with the truth.
func Example() {
	service := adsim.New(adsim.Config{Seed: 7, RowsPerDay: 100})
	service.SetNow(time.Date(2026, time.November, 21, 20, 0, 0, 0, time.UTC))
	client := &http.Client{Transport: service.Transport()}
	get := func() (status int, size int) {
		const day = "start_date=2026-11-20&end_date=2026-11-20"
		req, err := http.NewRequest("GET", "http://sim"+adsim.ReportPrefix+"/ads/spend-report?"+day, nil)
		if err != nil {
			log.Fatal(err)
		}
		req.SetBasicAuth(adsim.DefaultUser, adsim.DefaultPassword)
		resp, err := client.Do(req)
		if err != nil {
			log.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			log.Fatal(err)
		}
		return resp.StatusCode, len(body)
	}

	before, err := service.TruthSum("2026-11-20")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := service.Restate("2026-11-20", adsim.Restatement{Kind: "multiply", Percent: 200}); err != nil {
		log.Fatal(err)
	}
	after, err := service.TruthSum("2026-11-20")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("today is", service.Today())
	fmt.Println("the day has doubled:", after.Spend == 2*before.Spend)

	service.Fail(adsim.Fault{Kind: adsim.Status, Status: 503, Times: 1})
	status, _ := get()
	fmt.Println("first:", status)
	status, size := get()
	fmt.Println("then:", status, size > 1000)
	fmt.Println("requests:", len(service.Requests()))
	// Output:
	// today is 2026-11-21
	// the day has doubled: true
	// first: 503
	// then: 200 true
	// requests: 2
}
