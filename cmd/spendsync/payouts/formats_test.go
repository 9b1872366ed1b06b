package payouts

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/parquet-go/parquet-go"
	"github.com/xuri/excelize/v2"

	"spendsync/load/duck"
	"spendsync/schema"
)

// sample is a file as a tracker, a spreadsheet or a library writes it: what comes, what is stored, what is said.
type sample struct {
	content string // of the file; or the name of one in testdata/tracker
	columns string // SPENDSYNC_TRACKER_COLUMNS
	format  string // SPENDSYNC_TRACKER_FORMAT
	rows    string // day|campaign|source|clicks|conversions|approved|held|refused|revenue, one a line; NULL is empty
	failed  string // part of the failures; empty: there is none
	said    string // part of what is said
}

const (
	head    = "date,campaign_id,source_id,clicks,conversions,revenue\n"
	aRow    = "2026-11-25|C2000000004|S1004|1500|20||||240.30"
	semi    = "date;campaign_id;source_id;clicks;conversions;revenue\n"
	voluums = "day=Day,campaign=Custom variable 2,source=Custom variable 1,clicks=Visits,conversions=Conversions," +
		"revenue=Revenue"
)

// samples are public formats with made-up IDs. Those of testdata/tracker were refused or misread by an earlier version.
var samples = map[string]sample{
	"cases/redtrack noise": {content: "redtrack_noise.csv", rows: "2026-11-25|C2000000004|S1004|1500|20|12|6|2|" +
		"240.30"},
	"cases/redtrack refund": {content: "redtrack_refund.csv", rows: "2026-11-25|C2000000002|S1012|29|0|0|0|0|" +
		"-12.50\n2026-11-25|C2000000004|S1004|1500|20|12|6|2|240.30"},
	"cases/total": {content: "total.csv", rows: "2026-11-25|C2000000002|S1012|29|1||||9.00\n" + aRow,
		said: "set aside: a row of totals (1)"},
	"cases/sep":        {content: "sep.csv", rows: aRow},
	"cases/comma head": {content: "comma_head.csv", rows: aRow},
	"cases/keitaro": {content: "keitaro.csv", rows: "2026-11-25|C2000000004|S1004|1500|20|6|12|2|72.00",
		said: "the column revenue is not read, for it includes conversions on hold; sale_revenue is"},
	"cases/keitaro mapped": {content: "keitaro.csv", columns: "day=day,campaign=ad_campaign_id,source=source," +
		"clicks=clicks,revenue=revenue",
		rows: "2026-11-25|C2000000004|S1004|1500|||||216.00", said: "the column revenue includes conversions on hold"},
	"cases/binom": {content: "binom.csv", failed: "no column is known as the campaign and the source; the columns " +
		"are Days, Name"},
	"cases/binom mapped": {content: "binom.csv", columns: "day=Days,campaign=Name,source=Name,clicks=Clicks," +
		"conversions=Leads,revenue=Revenue",
		rows: "2026-11-25|S1004|S1004|2038|92||||1109.10"},
	"cases/voluum": {content: "voluum_own_ids.csv", columns: "day=Day,campaign=Campaign ID,source=Custom variable " +
		"1,clicks=Visits,conversions=Conversions,revenue=Revenue",
		failed: `0 of 1 rows are of campaigns of this account, 0 of 1 campaigns match: "0b6f1d2c`},

	"voluum/by day and variables": {content: `"Day","Custom variable 1","Custom variable 2","Visits","Clicks",` +
		`"Conversions","Revenue","Cost"` + "\n" +
		`"2026-11-25","S1004","C2000000004","1500","310","20","240.3",""` + "\n", columns: voluums, rows: aRow},
	"voluum/both columns of campaigns": {content: "Day,Campaign,Campaign ID,Custom variable 1,Visits\n2026-11-25," +
		"Push,u-1,C2000000004,3\n",
		failed: `the columns "Campaign" and "Campaign ID" may both be the campaign`, said: ""},
	"redtrack/states": {content: "Date,Campaign ID,Source ID,Clicks,LP Clicks,Conversions,Approved,Pending," +
		"Declined,Revenue\n" +
		"2026-11-25,C2000000004,S1004,1500,9,20,12,6,2,0.1\n", rows: "2026-11-25|C2000000004|S1004|1500|20|12|6|2|" +
		"0.10"},
	"keitaro/api": {content: `{"rows":[{"day":"2026-11-25","ad_campaign_id":"C2000000004","source":"S1004",` +
		`"clicks":1500,"conversions":20,` +
		`"leads":12,"sales":6,"rejected":2,"revenue":216.1,"sale_revenue":72.125}],"total":1,"meta":[]}`,
		rows: "2026-11-25|C2000000004|S1004|1500|20|6|12|2|72.125"},
	"binom/tokens": {content: `"Days";"Campaign";"Source";"Clicks";"Leads";"Revenue"` + "\n" +
		`"2026-11-25";"C2000000004";"S1004";"1,500";"20";"1,240.30"` + "\n",
		rows: "2026-11-25|C2000000004|S1004|1500|20||||1240.30"},
	"bemob/states": {content: "Day,Campaign,Source,Status,Conversions,Revenue\n2026-11-25,C2000000004,S1004," +
		"Approved,12,144\n" +
		"2026-11-25,C2000000004,S1004,New,6,72\n2026-11-25,C2000000004,S1004,Declined,2,24\n2026-11-25," +
		"C2000000004,S1004,Chargeback,1,-12\n",
		rows: "2026-11-25|C2000000004|S1004||21|12|6|3|132.00"},
	"bemob/visits": {content: "Day,Campaign ID,Source ID,Visits,Clicks,Conversions (All),Revenue ($)\n2026-11-25," +
		"C2000000004,S1004,1500,300,20,$240.30\n", rows: aRow},

	"excel/german": {content: "\ufeff" + strings.ReplaceAll(semi, "\n", "\r\n") +
		"25.11.2026;C2000000004;S1004;1.500;20;240,30\r\n", rows: aRow},
	"excel/french": {content: semi + "25/11/2026;C2000000004;S1004;1\u202f500;20;240,30\n", rows: aRow},
	"excel/us":     {content: head + `11/25/2026,C2000000004,S1004,"1,500",20,"$240.30"` + "\n", rows: aRow},
	"excel/unicode text": {content: utf16Of(strings.ReplaceAll(semi, ";",
		"\t")+"2026-11-25\tC2000000004\tS1004\t1500\t20\t240,30\n", false), rows: aRow},
	"utf-16 big-endian": {content: utf16Of(semi+"2026-11-25;C2000000004;S1004;1500;20;240.30\n", true), rows: aRow},
	"gzip":              {content: packed(head + "2026-11-25,C2000000004,S1004,1500,20,240.30\n"), rows: aRow},
	"workbook":          {content: "book.xlsx", rows: aRow},
	"workbook/packed":   {content: "book.xlsx.gz", rows: aRow},
	"sheets/accounting": {content: head + "2026-11-25,C2000000002,S1012,29,0,(12.50)\n2026-11-25,C2000000004," +
		"S1004,1500.0,20,240.30\n",
		rows: "2026-11-25|C2000000002|S1012|29|0||||-12.50\n" + aRow},
	"sheets/words for nothing": {content: head + "2026-11-25,C2000000004,S1004,1500,N/A,-\n",
		rows: "2026-11-25|C2000000004|S1004|1500|||||",
		said: `set aside: "-" as revenue is unknown (1)`},
	"pandas/csv": {content: head + "2026-11-25 00:00:00,C2000000004,S1004,1500.0,20.0,240.30000000000001\n",
		rows: aRow},
	"pandas/datetime": {content: "pandas.parquet", rows: aRow},
	"pandas/packed":   {content: "pandas.parquet.gz", rows: aRow},
	"pandas/records": {content: `[{"date":"2026-11-25T00:00:00.000","campaign_id":"C2000000004",` +
		`"source_id":"S1004","clicks":1500.0,"conversions":20,"revenue":240.3}]`, rows: aRow},
	"pandas/lines": {content: `{"date":"2026-11-25","campaign_id":"C2000000004","source_id":"S1004",` +
		`"clicks":1500,"conversions":20,"revenue":240.3}` + "\n", rows: aRow},
	"pyarrow/decimal": {content: "decimal.parquet", rows: aRow},
	"polars/float":    {content: "float.parquet", rows: "2026-11-25|C2000000004|S1004|1500|20||||0.30"},
	"duckdb/copy": {content: head + "2026-11-25,C2000000004,S1004,1500,20,240.300\n", format: "decimal=.",
		rows: aRow},
	"php/dates": {content: semi + "25 Nov 2026;C2000000004;S1004;1500;20;240.30\n", rows: aRow},

	"two readings/1.240": {content: semi + "2026-11-25;C2000000004;S1004;1500;20;1.240\n",
		failed: `line 2, column revenue: "1.240" may be 1.24 or 1240, and no other number of the file decides; ` +
			`set SPENDSYNC_TRACKER_FORMAT=decimal=. or decimal=,`},
	"two readings/1,240": {content: head + `2026-11-25,C2000000004,S1004,1500,20,"1,240"` + "\n",
		failed: `may be 1240 or 1.24`},
	"two readings/decided by a neighbor": {content: semi + "2026-11-25;C2000000004;S1004;1500;20;" +
		"1.240\n2026-11-25;C2000000002;S1;1;0;9,50\n",
		rows: "2026-11-25|C2000000002|S1|1|0||||9.50\n2026-11-25|C2000000004|S1004|1500|20||||1240.00"},
	"two readings/decided by the variable": {content: semi + "2026-11-25;C2000000004;S1004;1500;20;1.240\n",
		format: "decimal=,",
		rows:   "2026-11-25|C2000000004|S1004|1500|20||||1240.00"},
	"two readings/both forms": {content: semi + "2026-11-25;C2000000004;S1004;1500;20;1.5\n2026-11-25;C2000000002;" +
		"S1;1;0;9,50\n",
		failed: "its numbers have two forms"},
	"two readings/a day": {content: head + "11/10/2026,C2000000004,S1004,1500,20,240.30\n",
		failed: `the day "11/10/2026" may be 2026-10-11 or 2026-11-10; set ` +
			`SPENDSYNC_TRACKER_FORMAT=day=DD/MM/YYYY or day=MM/DD/YYYY`},
	"two readings/a day by the variable": {content: head + "11/12/2026,C2000000004,S1004,1500,20,240.30\n",
		format: "day=DD/MM/YYYY",
		rows:   "2026-12-11|C2000000004|S1004|1500|20||||240.30"},
	"other/hours": {content: head + "2026-11-25 13:00,C2000000004,S1004,1500,20,240.30\n",
		failed: "is not a day but an hour of it"},
	"other/web page":     {content: "<!DOCTYPE html><html><body>Log in</body></html>", failed: "it is a web page"},
	"other/old workbook": {content: "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", failed: "a workbook of the old form (.xls)"},
	"other/cut gzip":     {content: packed(head)[:12], failed: "it is packed with gzip, and damaged"},
	"other/cut late gzip": {content: packed(head + strings.Repeat("2026-11-25,C2000000004,S1004,1500,20,240.30\n",
		9))[:90],
		failed: "it is packed with gzip, and damaged"},
	"other/packed, and no text": {content: packed(head + "2026-11-25,C2000000004,S1004,1500,20,240.30\n" +
		"2026-11-25,C2000000004,\xff\xfe\xff,1500,20,240.30\n"), rows: aRow, failed: "line 3"},
	"other/cut in a line": {content: head + "2026-11-25,C2000000004,S1004,1500,20,240.30\n2026-11-25,C20000",
		rows:   aRow,
		failed: "line 3: it has fewer values than the 6 columns"},
	"other/cut in a quote": {content: strings.ReplaceAll(head, "date", `"date"`) +
		"2026-11-25,C2000000004,S1004,1500,20,240.30\n" + `"2026-11-25","C200`, rows: aRow,
		failed: "a quote does not end"},
	"other/title above the heading": {content: "Report from 2026-11-01\n\n" + head +
		"2026-11-25,C2000000004,S1004,1500,20,240.30\n", rows: aRow},
	"other/euros": {content: head + "2026-11-25,C2000000004,S1004,1500,20,€240.30\n",
		rows:   "2026-11-25|C2000000004|S1004|1500|20||||",
		failed: `revenue: "€240.30" is not an amount in US dollars`},

	// By the keys of the trackers' APIs, which name no campaign of the account: the variables have it.
	"voluum/api": {content: `{"totalRows":1,"rows":[{"day":"2026-11-25","customVariable1":"S1004",` +
		`"customVariable2":"C2000000004","visits":1500,"clicks":310,"conversions":20,"revenue":240.3}],` +
		`"totals":{"visits":1500},"messages":[]}`, columns: "day=day,campaign=customVariable2," +
		"source=customVariable1,clicks=visits,conversions=conversions,revenue=revenue", rows: aRow},
	"voluum/api by its names": {content: `{"rows":[{"day":"2026-11-25","campaignId":"u-1","customVariable1":"S1004",` +
		`"visits":1500}]}`, failed: "no column is known as the campaign and the source; the columns are"},
	"redtrack/api": {content: `[{"date":"2026-11-25","sub1":"S1004","sub2":"C2000000004","clicks":1500,` +
		`"lp_clicks":310,"conversions":20,"total_conversions":21,"revenue":240.29999999999998,"cost":12.5}]`,
		columns: "day=date,campaign=sub2,source=sub1,clicks=clicks,conversions=conversions,revenue=revenue",
		rows:    aRow},
	"redtrack/hours": {content: "date,hour_of_day,campaign_id,source_id,clicks\n2026-11-25,0,C2000000004,S1004,9\n" +
		"2026-11-25,1,C2000000004,S1004,4\n", failed: "line 2 and line 3 are both of 2026-11-25"},
	"keitaro/sub ids": {content: "day,sub_id_1,sub_id_2,clicks,campaign_unique_clicks,conversions,sales,leads," +
		"rejected,revenue,sale_revenue,cost\n2026-11-25,S1004,C2000000004,1500,1400,20,6,12,2,216.00,72.00,1\n",
		columns: "day=day,campaign=sub_id_2,source=sub_id_1,clicks=clicks,approved=sales,held=leads," +
			"refused=rejected,revenue=sale_revenue", rows: "2026-11-25|C2000000004|S1004|1500|20|6|12|2|72.00"},
	"keitaro/datetime": {content: "datetime,sub_id_1,sub_id_2,clicks\n2026-11-25 13:04:11,S1004,C2000000004,1\n",
		columns: "day=datetime,campaign=sub_id_2,source=sub_id_1,clicks=clicks",
		failed:  `column datetime: "2026-11-25 13:04:11" is not a day but an hour of it`},
	"binom/api": {content: `[{"date":"2026-11-25","t1":"S1004","t2":"C2000000004","clicks":"1500",` +
		`"lp_clicks":"310","leads":"20","revenue":"240.3000","cost":"12.5000"}]`,
		columns: "day=date,campaign=t2,source=t1,clicks=clicks,conversions=leads,revenue=revenue", rows: aRow},
	"bemob/custom variables": {content: "Day,Custom Variable 1,Custom Variable 2,Impressions,Visits,Clicks," +
		"Conversions,Revenue,Cost,ROI\n2026-11-25,S1004,C2000000004,0,1500,310,20,240.30,12.50,1822.40%\n",
		columns: "day=Day,campaign=Custom Variable 2,source=Custom Variable 1,clicks=Visits," +
			"conversions=Conversions,revenue=Revenue", rows: aRow},

	"sheets/download": {content: strings.ReplaceAll(head, "\n", "\r\n") + `"Nov 25, 2026",C2000000004,S1004,` +
		`"1,500",20,"$240.30"` + "\r\n" + `"Nov 24, 2026",,,,,` + "\r\n",
		rows: "2026-11-24||||||||\n" + aRow},
	"libreoffice/tabs": {content: strings.ReplaceAll(semi, ";", "\t") +
		"25/11/2026\tC2000000004\tS1004\t1500\t20\t240,30\n", rows: aRow},
	"numbers/quoted": {content: `"date";"campaign_id";"source_id";"clicks";"conversions";"revenue"` + "\n" +
		`"25.11.2026";"C2000000004";"S1004";"1500";"20";"240,30"` + "\n", rows: aRow},
	"workbook/title and totals": {content: "titled.xlsx", rows: aRow, said: "set aside: a row of totals (1)"},

	"pandas/index": {content: "," + head + "0,2026-11-25,C2000000004,S1004,1500,20,240.3\n", rows: aRow},
	"pandas/split": {content: `{"columns":["date","clicks"],"index":[0],"data":[["2026-11-25",1]]}`,
		failed: "columns"},
	"pandas/columns": {content: `{"date":{"0":"2026-11-25"},"clicks":{"0":1500}}`, failed: "date"},
	"pandas/epochs": {content: `[{"date":1795564800000,"campaign_id":"C2000000004","source_id":"S1004",` +
		`"clicks":1500}]`, failed: `column date: "1795564800000" is not a day`},
	"pandas/latin-1": {content: head + "2026-11-25,C2000000004,S1004,1500,20,240.3\n2026-11-25,caf\xe9,S1,1,1,1\n",
		rows: aRow, failed: "line 3: it is not UTF-8 text"},
	"polars/csv": {content: head + "2026-11-25T00:00:00.000000,C2000000004,S1004,1500,20,240.3\n", rows: aRow},
	"polars/ndjson": {content: packed(`{"date":"2026-11-25","campaign_id":"C2000000004","source_id":"S1004",` +
		`"clicks":1500,"conversions":20,"revenue":240.3}` + "\n" + `{"date":"2026-11-24","campaign_id":null,` +
		`"source_id":null,"clicks":1,"conversions":null,"revenue":null}` + "\n"),
		rows: "2026-11-24|||1|||||\n" + aRow},
	"pyarrow/csv": {content: `"date","campaign_id","source_id","clicks","conversions","revenue"` + "\n" +
		`2026-11-25,"C2000000004","S1004",1500,20,240.3` + "\n", rows: aRow},
	"r/write.csv": {content: `"","date","campaign_id","source_id","clicks","conversions","revenue"` + "\n" +
		`"1",2026-11-25,"C2000000004","S1004",1500,NA,2.403e+02` + "\n",
		rows: "2026-11-25|C2000000004|S1004|1500|||||240.30", said: `set aside: "NA" as conversions is unknown (1)`},
	"mysql/outfile": {content: strings.ReplaceAll(head, ",", "\t") +
		"2026-11-25\tC2000000004\tS1004\t1500\t\\N\t240.30\n",
		rows: "2026-11-25|C2000000004|S1004|1500|||||240.30", said: `as conversions is unknown (1)`},
	"duckdb/json": {content: `{"date":"2026-11-25","campaign_id":"C2000000004","source_id":"S1004","clicks":1500,` +
		`"conversions":20,"revenue":240.300000}` + "\n", rows: aRow},
	"duckdb/parquet of texts": {content: "texts.parquet", rows: aRow},

	"other/json with a byte order mark": {content: "\ufeff" + `[{"date":"2026-11-25","campaign_id":"C2000000004",` +
		`"source_id":"S1004","clicks":1500,"conversions":20,"revenue":240.3}]`, rows: aRow},
	"other/json, a list of another name": {content: `{"status":"ok","columns":["date"],"data":[{"date":"2026-11-25",` +
		`"campaign_id":"C2000000004","source_id":"S1004","clicks":1500,"conversions":20,"revenue":240.3},null],` +
		`"page":{"next":null}}`, rows: aRow},
	"other/json, rows behind another list": {content: `{"columns":[{"x":1}],"rows":[{"date":"2026-11-25",` +
		`"campaign_id":"C2000000004","source_id":"S1004","clicks":1500,"conversions":20,"revenue":240.3}]}`,
		rows: aRow},
	"other/empty list":          {content: "[]", failed: "JSON"},
	"other/an error":            {content: `{"error":{"code":"UNAUTHORIZED","message":"log in"}}`, failed: "error"},
	"other/cut json":            {content: `[{"date":"2026-11-25","campaign_id":"C2000000004","sour`, failed: "JSON"},
	"other/cut parquet":         {content: "PAR1\x15\x04\x15", failed: "Parquet is damaged"},
	"other/packed, cut parquet": {content: packed("PAR1\x15\x04\x15"), failed: "Parquet is damaged"},
}

// TestRead_TakesPublicFormats reads every sample as a sync does, and compares what would be stored and what is said.
func TestRead_TakesPublicFormats(t *testing.T) {
	made := makeBinary(t)
	for name, s := range samples {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "export")
			content := []byte(s.content)
			if file, is := made[s.content]; is {
				content = file
			} else if b, err := os.ReadFile(filepath.Join("../../../testdata/tracker", s.content)); err == nil &&
				len(s.content) < 40 {
				content = b
			}
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			format, err := ParseFormat(s.format)
			if err != nil {
				t.Fatal(err)
			}
			o := Options{Paths: []string{path}, Format: format, Campaigns: map[string]bool{"C2000000004": true,
				"C2000000002": true, "S1004": true}}
			for _, pair := range strings.Split(s.columns, ",") {
				if ours, theirs, ok := strings.Cut(pair, "="); ok {
					if o.Columns == nil {
						o.Columns = map[string]string{}
					}
					o.Columns[ours] = theirs
				}
			}
			got := readAll(t, o)
			if rows := rowsText(got.days); rows != s.rows {
				t.Errorf("stored:\n%s\nwant:\n%s", rows, s.rows)
			}
			failures := strings.Join(got.Failures, "\n")
			if (failures == "") != (s.failed == "") || !strings.Contains(failures, s.failed) {
				t.Errorf("failures: %s\nwant: %s", failures, s.failed)
			}
			if !strings.Contains(got.said(), s.said) {
				t.Errorf("said: %s\nwant: %s", got.said(), s.said)
			}
			if strings.Contains(failures, "spendsync-files-") {
				t.Errorf("failures name a temporary folder, another one at each reading: %s", failures)
			}
		})
	}
}

// rowsText is the rows as [sample] has them.
func rowsText(rows []schema.TrackerDay) string {
	var lines []string
	for _, r := range rows {
		line := []string{r.ReportDate.String(), r.CampaignID, r.SourceID}
		for _, n := range []schema.Null[int64]{r.Clicks, r.Conversions, r.Approved, r.Held, r.Refused} {
			text := ""
			if n.Valid {
				text = fmt.Sprint(n.V)
			}
			line = append(line, text)
		}
		text := ""
		if r.Revenue.Valid {
			text = r.Revenue.V.String()
		}
		lines = append(lines, strings.Join(append(line, text), "|"))
	}
	return strings.Join(lines, "\n")
}

func utf16Of(text string, bigEndian bool) string {
	var order binary.AppendByteOrder = binary.LittleEndian
	if bigEndian {
		order = binary.BigEndian
	}
	var b []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		b = order.AppendUint16(b, unit)
	}
	return string(b)
}

func packed(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.String()
}

// makeBinary makes the files that are no text, as their libraries do.
func makeBinary(t *testing.T) map[string][]byte {
	t.Helper()
	made := map[string][]byte{}
	book := excelize.NewFile()
	for i, row := range [][]any{{"date", "campaign_id", "source_id", "clicks", "conversions", "revenue"},
		{46351, "C2000000004", "S1004", 1500, 20, 240.3}} {
		if err := book.SetSheetRow("Sheet1", fmt.Sprintf("A%d", i+1), &row); err != nil {
			t.Fatal(err)
		}
	}
	b, err := book.WriteToBuffer()
	if err != nil {
		t.Fatal(err)
	}
	made["book.xlsx"] = b.Bytes()
	book = excelize.NewFile()
	for i, row := range [][]any{{"Report of November"}, {}, {"date", "campaign_id", "source_id", "clicks",
		"conversions", "revenue"}, {"2026-11-25", "C2000000004", "S1004", "1,500", 20, "$240.30"},
		{"Total", "", "", 1500, 20, 240.3}} {
		if err := book.SetSheetRow("Sheet1", fmt.Sprintf("A%d", i+1), &row); err != nil {
			t.Fatal(err)
		}
	}
	if b, err = book.WriteToBuffer(); err != nil {
		t.Fatal(err)
	}
	made["titled.xlsx"] = b.Bytes()
	// pyarrow keeps decimals above 18 digits as FIXED_LEN_BYTE_ARRAY.
	type fixed struct {
		Day         int32    `parquet:"day,date"`
		CampaignID  string   `parquet:"campaign_id"`
		SourceID    string   `parquet:"source_id"`
		Clicks      int64    `parquet:"clicks"`
		Conversions int64    `parquet:"conversions"`
		Revenue     [16]byte `parquet:"revenue,decimal(3:38)"`
	}
	row := fixed{Day: int32(day("2026-11-25")), CampaignID: "C2000000004", SourceID: "S1004", Clicks: 1500,
		Conversions: 20}
	binary.BigEndian.PutUint64(row.Revenue[8:], 240300)
	var out bytes.Buffer
	if err := parquet.Write(&out, []fixed{row}); err != nil {
		t.Fatal(err)
	}
	made["decimal.parquet"] = out.Bytes()
	db, err := duck.OpenScratch(t.Context(), duck.Options{TempDir: t.TempDir()}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, columns := range map[string]string{
		"pandas.parquet": "TIMESTAMP_NS '2026-11-25 00:00:00' AS date, 240.3::DOUBLE AS revenue",
		"texts.parquet":  "'2026-11-25' AS date, '240.30' AS revenue",
		"float.parquet":  "TIMESTAMPTZ '2026-11-25 00:00:00+00' AS date, 0.1::DOUBLE + 0.2::DOUBLE AS revenue",
	} {
		path := filepath.Join(db.Dir, name)
		if err := db.Exec(t.Context(), "COPY (SELECT 'C2000000004' AS campaign_id, 'S1004' AS source_id, "+
			"1500.0::DOUBLE AS clicks, "+
			"20 AS conversions, "+columns+") TO "+schema.QuoteText(path)); err != nil {
			t.Fatal(err)
		}
		if made[name], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"book.xlsx", "pandas.parquet"} {
		made[name+".gz"] = []byte(packed(string(made[name])))
	}
	return made
}
