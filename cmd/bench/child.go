package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"spendsync/extract"
	"spendsync/schema"
)

// childVariable turns the binary into one of the measured processes.
const childVariable = "SPENDSYNC_BENCH_CHILD"

func runChild(name string, args []string) error {
	switch name {
	case "download":
		return downloadPages(args[0], args[1], args[2])
	case "duckdb":
		return loadWithDuckDB(args[0], args[1])
	}
	return fmt.Errorf("no child %q", name)
}

// reportColumns are those that spendsync requests.
const reportColumns = "date,campaign_id,campaign_name,creative_id,source_id,total_spend,clicks,impressions,conversions"

// spendPage is a decoded page of the report.
type spendPage = extract.Page[extract.SpendLine]

// eachPage requests every page of every day, one after the other.
func eachPage(ctx context.Context, report, authorization string, page func(name string, p spendPage) error) error {
	today := schema.DateOf(time.Now())
	var body bytes.Buffer
	for d := today - schema.ReachDays; d <= today; d++ {
		for n := 1; ; n++ {
			q := url.Values{
				"start_date": {d.String()}, "end_date": {d.String()}, "columns": {reportColumns},
				"include_creatives": {"true"}, "page_size": {"10000"}, "page": {fmt.Sprint(n)},
			}
			if err := getReport(ctx, report, authorization, q, &body); err != nil {
				return fmt.Errorf("%s page %d: %w", d, n, err)
			}
			p, err := extract.DecodeSpend(nil, body.Bytes())
			if err != nil {
				return err
			}
			if err := page(fmt.Sprintf("%s-%04d.json", d, n), p); err != nil {
				return err
			}
			if n >= p.Pages {
				break
			}
		}
	}
	return nil
}

// getReport reads one reply of the report into body.
func getReport(ctx context.Context, report, authorization string, q url.Values, body *bytes.Buffer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, report+"/ads/spend-report?"+q.Encode(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", authorization)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	body.Reset()
	_, err = io.Copy(body, resp.Body)
	return err
}

// addUp requests what the service has to add all rows up for: its totals per day, and the
// creatives of the reach.
func addUp(ctx context.Context, report, authorization string) error {
	today := schema.DateOf(time.Now())
	var body bytes.Buffer
	for _, q := range []url.Values{
		{"columns": {"date,total_spend,clicks"}, "page_size": {"1000"}},
		{"columns": {"campaign_id,creative_id,creative_title,creative_message,creative_image_url,creative_icon_url," +
			"creative_status"}, "include_creatives": {"true"}, "page_size": {"10000"}},
	} {
		q.Set("start_date", (today - schema.ReachDays).String())
		q.Set("end_date", today.String())
		q.Set("page", "1")
		if err := getReport(ctx, report, authorization, q, &body); err != nil {
			return err
		}
	}
	return nil
}

// downloadPages stores every page as received. (It reads the number of pages from each
// page, as any client must.)
func downloadPages(report, authorization, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return eachPage(context.Background(), report, authorization, func(name string, p spendPage) error {
		return os.WriteFile(filepath.Join(dir, name), p.Raw, 0o644)
	})
}

// loadWithDuckDB comes as close to a first load as DuckDB alone can: its JSON reader, a
// table, Parquet by day with zstd. Nothing is proven, and money passes through floats.
func loadWithDuckDB(pages, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	connector, err := duckdb.NewConnector(filepath.Join(dir, "alone.duckdb"), nil)
	if err != nil {
		return err
	}
	defer connector.Close()
	db := sql.OpenDB(connector)
	defer db.Close()
	glob := schema.QuoteText(filepath.Join(pages, "*.json"))
	for _, statement := range []string{
		"SET preserve_insertion_order = false",
		`CREATE TABLE spend (
			report_date DATE, campaign_id VARCHAR, campaign_name VARCHAR, creative_id VARCHAR, source_id VARCHAR,
			spend DECIMAL(18,6), clicks BIGINT, impressions BIGINT, conversions BIGINT)`,
		`INSERT INTO spend
			SELECT d.date, d.campaign_id, d.campaign_name, d.creative_id, d.source_id,
				d.total_spend, d.clicks, d.impressions, d.conversions
			FROM (SELECT unnest(data) AS d
				FROM read_json(` + glob + `, maximum_object_size = 100000000, columns = {data: 'STRUCT(
					date DATE, campaign_id VARCHAR, campaign_name VARCHAR, creative_id VARCHAR, source_id VARCHAR,
					total_spend DECIMAL(18,6), clicks BIGINT, impressions BIGINT, conversions BIGINT)[]'}))`,
		"COPY spend TO " + schema.QuoteText(filepath.Join(dir, "parquet")) +
			" (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (report_date))",
		"CHECKPOINT",
	} {
		if _, err := db.Exec(statement); err != nil {
			return err
		}
	}
	return nil
}
