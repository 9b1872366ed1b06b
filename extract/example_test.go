package extract_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"time"

	"spendsync/extract"
	"spendsync/extract/adsim"
	"spendsync/schema"
)

// Read one day of the spend report from the simulated service. The walk collects in seen what the pages state about
// their completeness. A caller compares this evidence with the rows.
func Example() {
	service := adsim.New(adsim.Config{Seed: 7, RowsPerDay: 100})
	service.SetNow(time.Date(2026, time.November, 21, 20, 0, 0, 0, time.UTC))
	client, err := extract.NewClient(extract.Options{
		BaseURL:   "https://report.example" + adsim.ReportPrefix,
		Authorize: func(r *http.Request) { r.SetBasicAuth(adsim.DefaultUser, adsim.DefaultPassword) },
		Transport: service.Transport(),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	day, err := schema.ParseDate("2026-11-20")
	if err != nil {
		log.Fatal(err)
	}
	var seen extract.Evidence
	rows, pages := 0, 0
	for page, err := range client.Spend(context.Background(), extract.SpendQuestion{Day: day, PageSize: 40}, &seen) {
		if err != nil {
			log.Fatal(err) // the rows read so far are not proven
		}
		rows, pages = rows+len(page.Items), pages+1
	}
	truth, err := service.TruthSum("2026-11-20")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("several pages:", pages > 1)
	fmt.Println("every row:", int64(rows) == truth.Rows)
	// Output:
	// several pages: true
	// every row: true
}
