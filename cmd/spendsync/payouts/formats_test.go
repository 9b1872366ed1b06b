package payouts

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
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
	"spendsync/schema/schematest"
)

// sample is a file as a tracker, a spreadsheet or a library writes it, with the expected rows and findings.
type sample struct {
	content string // of the file, or the name of a file in testdata
	columns string // value of SPENDSYNC_TRACKER_COLUMNS
	rows    string // one per line: day|campaign|source|clicks|conversions|approved|held|refused|revenue; NULL is empty
	sum     string // revenue of all rows, if rows is not given
	finding string // part of the text of the findings; empty: no finding
}

const (
	head    = "date,campaign_id,source_id,clicks,conversions,revenue\n"
	aRow    = "2026-11-25|C2000000004|S1004|1500|20||||240.30"
	good    = "2026-11-25,C2000000004,S1004,1500,20,240.30\n"
	semi    = "date;campaign_id;source_id;clicks;conversions;revenue\n"
	voluums = "day=Day,campaign=Custom variable 2,source=Custom variable 1,clicks=Visits,conversions=Conversions," +
		"revenue=Revenue"
	keitaros = "day=День,campaign=Sub ID 2,source=Sub ID 1,clicks=Клики,conversions=Конверсии,revenue=Доход"
	affises  = "day=Date,campaign=Sub2,source=Sub1,clicks=Clicks,approved=Confirmed,refused=Declined," +
		"revenue=Revenue,held="
)

// samples has files in public formats, with made-up IDs. The files of testdata were refused or misread by an earlier
// version.
var samples = map[string]sample{
	"cases/affise": {content: "affise-csv.csv", finding: "declare SPENDSYNC_TRACKER_COLUMNS=day=Date,campaign=Sub2," +
		"source=Sub1,clicks=Clicks,approved=Confirmed,held=Pending,held=Hold,refused=Declined,revenue=Revenue"},
	"cases/affise declared": {content: "affise-csv.csv", columns: affises + "Pending,held=Hold", sum: "4116.00"},
	"cases/bemob": {content: "bemob-timezone-mapped.csv", columns: "day=Date (America/Chicago),campaign=campaign_id," +
		`source=source_id,clicks=Visits,conversions=Conversions,revenue="Revenue, $"`, sum: "6909.00"},
	"cases/binom": {content: "binom.csv", finding: "line 1 lacks day, campaign, source"},
	"cases/binom declared": {content: "binom.csv", columns: "day=Days,campaign=Name,source=Name,clicks=Clicks," +
		"conversions=Leads,revenue=Revenue", finding: `"Name" seems to be the tracker's own`},
	"cases/comma head": {content: "comma_head.csv", rows: aRow},
	"cases/cp1252":     {content: "cp1252-unread.csv", sum: "6909.00"},
	"cases/merged days": {content: "csv-merged-days.csv",
		finding: `line 3: column "date": there is no day (so do 6 more); 7 of 8 rows`},
	"cases/currency column": {content: "currency-column.csv",
		finding: `line 2: column "currency": "EUR": amounts are US dollars`},
	"cases/currency heading": {content: "currency-heading.csv", finding: `"revenue (EUR)" is in EUR`},
	"currencies/in a word": {content: strings.Replace(head, "revenue", "Revenue in EUR", 1) + good,
		finding: `"Revenue in EUR" is in EUR`},
	"currencies/in a name": {content: strings.Replace(head, "revenue", "revenue_eur", 1) + good,
		finding: `"revenue_eur" is in EUR`},
	"currencies/of revenue": {content: "Revenue Currency," + head + "EUR," + good,
		finding: `line 2: column "Revenue Currency": "EUR"`},
	"currencies/dollars": {content: "Cost Currency,Currency," + strings.Replace(head, "revenue", "revenue_usd", 1) +
		"USD,US$," + good, rows: aRow},
	"currencies/before the name": {content: strings.Replace(head, "revenue", "EUR Revenue", 1) + good,
		columns: "day=date,campaign=campaign_id,source=source_id,revenue=EUR Revenue",
		finding: `"EUR Revenue" is in EUR`},
	"currencies/within the name": {content: strings.Replace(head, "revenue", "Revenue (C$) net", 1) + good,
		columns: "day=date,campaign=campaign_id,source=source_id,revenue=Revenue (C$) net",
		finding: `"Revenue (C$) net" is in C$`},
	"currencies/above the heading": {content: "Report,Sources\nCurrency:,EUR\n" + head + good,
		finding: `line 2: "currency: eur": amounts are US dollars`},
	"currencies/below the rows": {content: head + good + "Currency: EUR\n" + head + good,
		finding: `line 3: "currency: eur": amounts are US dollars`},
	"currencies/by its name above": {content: "All amounts in Canadian dollars\n" + head + good,
		finding: `line 1: "all amounts in canadian dollars": amounts are US dollars`},
	"currencies/in micros": {content: strings.Replace(head, "revenue", "revenue_micros", 1) + good,
		finding: `"revenue_micros" is in MICROS`},
	"currencies/dollars above":       {content: "Currency,USD\n" + head + good, rows: aRow},
	"currencies/a column in Russian": {content: "Валюта," + head + "RUB," + good, finding: `column "Валюта": "RUB"`},
	"currencies/in a heading in Russian": {content: "День,Sub ID 1,Sub ID 2,Клики,\"Доход, руб.\"\n" +
		"2026-11-25,S1004,C2000000004,9,3675\n", columns: "day=День,campaign=Sub ID 2,source=Sub ID 1,clicks=Клики," +
		`revenue="Доход, руб."`, finding: `"Доход, руб." is in РУБ`},
	"currencies/in thousands": {content: strings.Replace(head, "revenue", `"Revenue, K$"`, 1) + good,
		columns: `day=date,campaign=campaign_id,source=source_id,revenue="Revenue, K$"`,
		finding: `"Revenue, K$" is in K$`},
	"currencies/in a heading in Polish": {content: strings.Replace(head, "revenue", "Przychód zł", 1) + good,
		columns: "day=date,campaign=campaign_id,source=source_id,revenue=Przychód zł",
		finding: `"Przychód zł" is in ZŁ`},
	"currencies/in a heading in Chinese": {content: strings.Replace(head, "revenue", "收入（元）", 1) + good,
		columns: "day=date,campaign=campaign_id,source=source_id,revenue=收入（元）", finding: `"收入（元）" is in 元`},
	"currencies/format of a cell":     {content: "euros.xlsx", finding: `"240.30 €" is not an amount in US dollars`},
	"currencies/format of other cell": {content: "dollars.xlsx", rows: aRow},
	"cases/excel midnight":            {content: "excel-midnight.csv", sum: "6909.00"},
	"cases/heading of lines":          {content: "heading-two-lines.csv", sum: "5720.75"},
	"cases/keitaro cp1251": {content: "keitaro-cp1251.csv", columns: keitaros,
		finding: "it is not UTF-8: declare its " +
			"encoding"},
	"cases/keitaro cp1251 declared": {content: "keitaro-cp1251.csv", columns: keitaros + ",encoding=windows-1251",
		sum: "6909.00"},
	"cases/keitaro": {content: "keitaro.csv", finding: "declare SPENDSYNC_TRACKER_COLUMNS=day=day," +
		"campaign=ad_campaign_id,source=source,clicks=clicks,conversions=conversions,approved=sales,held=leads," +
		"refused=rejected,revenue=sale_revenue"},
	"cases/lower case": {content: "lower-case-ids.csv",
		finding: `line 2: "c1000037" is "C1000037" in another case`},
	"cases/metadata above": {content: "metadata-above.csv", sum: "2266.25"},
	"cases/php backslash":  {content: "php-backslash.csv", sum: "6909.00"},
	"cases/range above":    {content: "range-above.csv", sum: "4532.50"},
	"cases/redtrack noise": {content: "redtrack_noise.csv", rows: "2026-11-25|C2000000004|S1004|1500|20|12|6|2|240.30"},
	"cases/redtrack refund": {content: "redtrack_refund.csv", rows: "2026-11-25|C2000000002|S1012|29|0|0|0|0|" +
		"-12.50\n2026-11-25|C2000000004|S1004|1500|20|12|6|2|240.30"},
	"cases/sep": {content: "sep.csv", rows: aRow},
	"cases/subtotals": {content: "subtotals-blank.csv", sum: "4532.50",
		finding: "2 rows without a campaign or a source " +
			"are set aside: they may add up the other 6"},
	"cases/total": {content: "total.csv", rows: "2026-11-25|C2000000002|S1012|29|1||||9.00\n" + aRow},
	"cases/trackier": {content: "trackier-csv.csv", sum: "4116.00",
		finding: "not declared, and so not read: Cancelled Conversions, Rejected Conversions"},
	"cases/twice heading": {content: "twice-heading.csv", sum: "6909.00"},
	"cases/voluum": {content: "voluum_own_ids.csv", columns: "day=Day,campaign=Campaign ID,source=Custom variable " +
		"1,clicks=Visits,conversions=Conversions,revenue=Revenue",
		finding: `"Campaign ID" seems to be the tracker's own: pass the service's campaign ID`},

	"voluum/by day and variables": {content: `"Day","Custom variable 1","Custom variable 2","Visits","Clicks",` +
		`"Conversions","Revenue","Cost"` + "\n" +
		`"2026-11-25","S1004","C2000000004","1,500","310","20","240.3",""` + "\n", columns: voluums, rows: aRow},
	"voluum/clicks and visits": {content: "day,campaign,source,visits,clicks\n2026-11-25,C2000000004,S1004,9,3\n",
		finding: `"visits" and "clicks" may each be clicks: leave one of them, or declare it`},
	"states/a row": {content: "Day,Campaign,Source,Status,Conversions,Revenue\n2026-11-25,C2000000004,S1004," +
		"Approved,12,144\n2026-11-25,C2000000004,S1004,New,6,72\n2026-11-25,C2000000004,S1004,Declined,2,24\n" +
		"2026-11-25,C2000000004,S1004,Chargeback,1,-12\n",
		rows: "2026-11-25|C2000000004|S1004||21|12|6|3|132.00"},
	"states/unknown": {content: "Day,Campaign,Source,Status,Conversions\n2026-11-25,C2000000004,S1004,sort of,1\n",
		finding: `line 2: column "Status": "sort of" is none of the states`},
	"excel/german": {content: "\ufeff" + strings.ReplaceAll(semi, "\n", "\r\n") +
		"25.11.2026;C2000000004;S1004;1.500;20;240,30\r\n", rows: aRow},
	"excel/french": {content: semi + "25/11/2026;C2000000004;S1004;1\u202f500;20;240,30\n", rows: aRow},
	"excel/us":     {content: head + `11/25/2026,C2000000004,S1004,"1,500",20,"$240.30"` + "\n", rows: aRow},
	"excel/unicode text": {content: utf16Of(strings.ReplaceAll(semi, ";",
		"\t")+"2026-11-25\tC2000000004\tS1004\t1500\t20\t240,30\n", false), rows: aRow},
	"excel/IDs kept as text": {content: head + `2026-11-25,'C2000000004,="S1004",1500,20,240.30` + "\n", rows: aRow},
	"excel/short day":        {content: head + "25-Nov-26,C2000000004,S1004,1500,20,240.30\n", rows: aRow},
	"excel/ID as number": {content: head + "2026-11-25,2.0E+09,S1004,1500,20,240.30\n",
		finding: `"2.0E+09" is an ID that a spreadsheet made a number of`},
	"utf-16 big-endian": {content: utf16Of(semi+"2026-11-25;C2000000004;S1004;1500;20;240.30\n", true), rows: aRow},
	"utf-16 without a mark": {content: utf16Of(head+good, false)[2:],
		finding: "as UTF-16 without its mark does"},
	"gzip":            {content: packed(head + good), rows: aRow},
	"workbook":        {content: "book.xlsx", rows: aRow},
	"workbook/packed": {content: "book.xlsx.gz", rows: aRow},
	"workbook/cover":  {content: "titled.xlsx", rows: aRow},
	"workbook/twice":  {content: "twice.xlsx", finding: "2 sheets of it have the declared columns"},
	"sheets/accounting": {content: head + "2026-11-25,C2000000002,S1012,29,0,(12.50)\n" + good,
		rows: "2026-11-25|C2000000002|S1012|29|0||||-12.50\n" + aRow},
	"sheets/accounting nothing": {content: head + "2026-11-25,C2000000002,S1012,29,0, $-   \n" + good,
		rows: "2026-11-25|C2000000002|S1012|29|0||||0.00\n" + aRow},
	"sheets/formulas": {content: "formulas.xlsx", rows: "2026-11-25|C2000000004|S1004|1500|20||||",
		finding: "tracker.no-revenue "},
	"sheets/formulas and no conversion": {content: strings.Replace(head+good, "20,240.30", "0,", 1),
		rows: "2026-11-25|C2000000004|S1004|1500|0||||", finding: "remark "},
	"sheets/words for nothing": {content: head + "2026-11-25,C2000000004,S1004,1500,N/A,-\n",
		rows:    "2026-11-25|C2000000004|S1004|1500|||||",
		finding: `column "revenue": no row has a number: it is empty`},
	"sheets/download": {content: strings.ReplaceAll(head, "\n", "\r\n") + `"Nov 25, 2026",C2000000004,S1004,` +
		`"1,500",20,"$240.30"` + "\r\n" + ",,,,,\r\n", rows: aRow},
	"pandas/csv": {content: head + "2026-11-25 00:00:00,C2000000004,S1004,1500.0,20.0,240.30000000000001\n",
		rows: aRow},
	"pandas/midnight in Chicago": {content: "chicago.parquet", rows: aRow},
	"psql/aligned": {content: "    date    | campaign_id | source_id | clicks | conversions | revenue \n" +
		"------------+-------------+-----------+--------+-------------+---------\n" +
		" 2026-11-25 | C2000000004 | S1004     |   1500 |          20 |  240.30\n(1 row)\n\n", rows: aRow},
	"times/Chicago's in UTC": {content: strings.ReplaceAll(head+good, "25,C", "25T06:00:00.000Z,C"), rows: aRow},
	"times/in summer": {content: strings.ReplaceAll(head+good, "11-25,C", "07-25 05:00:00+00,C"),
		rows: strings.ReplaceAll(aRow, "11-25", "07-25")},
	"times/an hour before": {content: strings.ReplaceAll(head+good, "25,C", "25T05:00:00Z,C"),
		finding: "an hour of it"},
	"metabase/long day": {content: head + `"November 25, 2026, 12:00 AM",C2000000004,S1004,1500,20,240.30` + "\n",
		rows: aRow},
	"pandas/index":            {content: "," + head + "0,2026-11-25,C2000000004,S1004,1500,20,240.3\n", rows: aRow},
	"pandas/datetime":         {content: "pandas.parquet", rows: aRow},
	"pandas/packed":           {content: "pandas.parquet.gz", rows: aRow},
	"pyarrow/decimal":         {content: "decimal.parquet", rows: aRow},
	"polars/float":            {content: "float.parquet", rows: "2026-11-25|C2000000004|S1004|1500|20||||0.30"},
	"duckdb/parquet of texts": {content: "texts.parquet", rows: aRow},
	"r/write.csv": {content: `"","date","campaign_id","source_id","clicks","conversions","revenue"` + "\n" +
		`"1",2026-11-25,"C2000000004","S1004",1500,20,2.403e+02` + "\n" +
		`"2",2026-11-24,"C2000000004","S1004",1500,NA,1` + "\n",
		rows: "2026-11-24|C2000000004|S1004|1500|||||1.00\n" + aRow},
	"mysql/outfile": {content: strings.ReplaceAll(head, ",", "\t") +
		"2026-11-25\tC2000000004\tS1004\t1500\t\\N\t240.30\n2026-11-24\tC2000000004\tS1004\t1\t1\t1\n",
		rows: "2026-11-24|C2000000004|S1004|1|1||||1.00\n2026-11-25|C2000000004|S1004|1500|||||240.30"},

	"two readings/1.240": {content: semi + "2026-11-25;C2000000004;S1004;1500;20;1.240\n",
		finding: `line 2: column "revenue": "1.240" may be 1.24 or 1240.00: declare decimal=point or decimal=comma`},
	"two readings/1,240": {content: head + `2026-11-25,C2000000004,S1004,1500,20,"1,240"` + "\n",
		finding: `may be 1240.00 or 1.24`},
	"two readings/declared": {content: semi + "2026-11-25;C2000000004;S1004;1500;20;1.240\n", columns: "decimal=comma",
		rows: "2026-11-25|C2000000004|S1004|1500|20||||1240.00"},
	"two readings/a day": {content: head + "11/10/2026,C2000000004,S1004,1500,20,240.30\n",
		finding: `"11/10/2026" may be 2026-10-11 or 2026-11-10: declare dates=DD/MM/YYYY or dates=MM/DD/YYYY`},
	"two readings/not with dots": {content: head + "11.10.2026 0:00,C2000000004,S1004,1500,20,240.30\n",
		rows: "2026-10-11|C2000000004|S1004|1500|20||||240.30"},
	"two readings/a declared day": {content: head + "11/10/2026,C2000000004,S1004,1500,20,240.30\n",
		columns: "dates=DD/MM/YYYY", rows: "2026-10-11|C2000000004|S1004|1500|20||||240.30"},

	"misfits/few": {content: head + strings.Repeat(good, 1) + manyRows(40) + "2026-11-24,C2000000004,S1004,x,20,1\n",
		sum:     "260.30",
		finding: `line 43: column "clicks": "x" is not a whole number of 0 or more; set aside are 1 of 42`},
	"misfits/many": {content: head + manyRows(18) + "2026-11-24,C2000000004,S1004,x,20,1\n",
		finding: `"x" is not a whole number of 0 or more; 1 of 19 rows of this account (6 %) do not fit`},
	"misfits/sources": {content: head + manyRows(18) + "2026-11-24,C2000000004,S01004,5,20,1\n",
		finding: `"S01004" and "S1004" differ by a leading zero; 1 of 19 rows of this account (6 %) have a source`},
	"misfits/much revenue": {content: head + manyRows(40) + "2026-11-24,C2000000004,Sother,5,20,900\n",
		finding: `"source_id" seems to be the tracker's own`},
	"misfits/other networks": {content: head + good + strings.Repeat("2026-11-25,N5,x,EUR,-5,?\n", 50), rows: aRow},
	"misfits/a name behind the ID": {content: head + "2026-11-25,C2000000004 - Push US,S1004,1,2,3\n",
		finding: `line 2: "C2000000004 - Push US" and "C2000000004" differ by a name behind the ID`},
	"misfits/no campaign": {content: head + "2026-11-25,N5,x,1,2,3\n",
		finding: "none of its 1 rows is of a campaign"},
	"misfits/a day to come": {content: head + "2027-11-25,C2000000004,S1004,1,2,3\n", finding: "is a day to come"},
	"misfits/says that rows are missing": {content: "incomplete_results," + head + "true," + good,
		finding: `line 2: column "incomplete_results": "true": rows are missing`},

	"misfits/another account": {content: head + "2026-11-25,C2999999999,S1004,1,2,3\n",
		finding: `"campaign_id" has IDs of the form of this account's campaigns: the export may be of another account`},
	"misfits/revenue decides": {content: head + good + manyRows(40) + "2026-11-24,C2000000004,Sother,5,20,900\n",
		finding: "1 of 42 rows of this account (3 %) have a source that it does not know, with 900.00 of its " +
			"revenue of 1160.30"},
	"misfits/days of two forms": {content: head + "46351,C2000000004,S1004,1,2,3\n11/19/2026,C2000000004,S1004,1,2,3\n",
		columns: "dates=MM/DD/YYYY", finding: `some days are a spreadsheet's and some texts such as "11/19/2026"`},
	"misfits/says how many": {content: head + good + "\"Showing first 1 of 1,257 rows\",,,,,\n",
		finding: `line 3: "showing first 1 of 1,257 rows": rows are missing`},
	"misfits/says that there are more": {content: head + good + "Only the top 100 sources are shown\n",
		finding: `line 3: "only the top 100 sources are shown": rows are missing`},
	"misfits/says that rows are limited": {content: "Export limited to 100 rows, upgrade your plan\n" + head + good,
		finding: `line 1: "export limited to 100 rows upgrade your plan": rows are missing`},
	"misfits/few sources are near by chance": {content: head + "2026-11-25,C2000000004,1004,1,2,3\n" +
		strings.Repeat("2026-11-25,C2000000004,777,1,2,3\n", 9), finding: `"source_id" seems to be the tracker's own`},
	"misfits/another heading": {content: head + good + "date,campaign_id,source_id,conversions,clicks,revenue\n" + good,
		finding: "line 3: it is another heading than the one above"},
	"misfits/another heading with a time zone": {content: "Date (GMT-06:00),campaign_id,source_id,clicks\n2026-11-25," +
		"C2000000004,S1004,1\nDate (GMT-06:00),campaign_id,clicks,source_id\n2026-11-24,C2000000004,1,S1004\n",
		columns: "day=Date (GMT-06:00),campaign=campaign_id,source=source_id,clicks=clicks",
		finding: "line 3: it is another heading than the one above"},
	"misfits/another amount": {content: head + good + "date,campaign_id,source_id,clicks,conversions,Revenue (EUR)\n" +
		good, finding: "line 3: it is another heading than the one above"},
	"misfits/an undeclared column has another name": {content: "Sub1," + head + "x," + good +
		"Sub 1," + head + "x," + strings.Replace(good, "25", "24", 1), sum: "480.60"},
	"misfits/a quote takes in the rest": {content: "name," + head + strings.Repeat("x,"+good, 1) +
		strings.Replace("x,"+manyRows(40), "\n", "\nx,", 38) + "\"x," + good,
		finding: "line 43: a quote in it does not end"},
	"misfits/quotes of Spark": {content: "name," + head + `"a \"b\", c",` + good +
		strings.Replace("x,"+manyRows(9), "\n", "\nx,", 8),
		finding: `line 2: a quote in it is written \", which ends its value`},
	// Read with another separator, the quote of the first line takes in the whole file.
	"other/a quoted day in each of many lines": {content: "date,name,campaign_id,source_id,revenue\n" + strings.Repeat(
		`"other","`+strings.Repeat("x", 1<<10)+"\",0,0,0\n", 5<<10) + `"2026-11-25","",C2000000004,S1004,0.5` + "\n",
		rows: "2026-11-25|C2000000004|S1004||||||0.50"},
	"misfits/a line end of old Macs in a line": {content: head + good + "2026-11-24,C2000000004,S1004,1,2,3,a\rb\n",
		finding: "line 3: it has more values than the 6 columns"},
	"misfits/an amount that became a day":   {content: "day.xlsx", finding: `column "revenue": "4 Dec" is not an`},
	"misfits/an amount that became a share": {content: "share.xlsx", finding: `column "revenue": "24030%" is not`},
	"misfits/a rounded amount":              {content: "rounded.xlsx", rows: aRow},
	"undeclared/amounts": {content: head + good + "2026-11-24,C2000000004,S1004,9,2,\n", sum: "240.30",
		finding: `column "revenue": 1 rows with conversions have no amount`},

	"totals/in a word": {content: head + good + ",,Totals (1 row),1500,20,240.30\n", rows: aRow},
	"totals/all sources in German": {content: head + good + "2026-11-25,C2000000004,Alle,1500,20,240.30\n", rows: aRow,
		finding: "1 rows without a campaign or a source are set aside"},
	"totals/all sources": {content: head + good + "2026-11-25,C2000000004,All sources,1500,20,240.30\n", rows: aRow,
		finding: "1 rows without a campaign or a source are set aside"},
	"undeclared/revenue": {content: strings.Replace(head, "revenue", "Earnings", 1) + good,
		rows: "2026-11-25|C2000000004|S1004|1500|20||||", finding: "not declared, and so not read: Earnings"},
	"other/no row": {content: head, finding: "a heading and no row of a day"},
	"other/twice": {content: head + good + good,
		finding: `lines 2, 3 are all of 2026-11-25, campaign "C2000000004"`},
	"other/hours": {content: head + "2026-11-25 13:00,C2000000004,S1004,1500,20,240.30\n",
		finding: "an hour of it"},
	"other/web page":       {content: "<!DOCTYPE html><html><body>Log in</body></html>", finding: "it is a web page"},
	"other/old workbook":   {content: "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", finding: "a workbook of the old form (.xls)"},
	"other/json":           {content: `[{"date":"2026-11-25"}]`, finding: "it is JSON: export a table, as CSV"},
	"other/cut zip":        {content: "PK\x03\x04\x00\x00", finding: "it is damaged: its end is missing"},
	"other/zip of a text":  {content: "a.zip", finding: "a packed file (zip), and no workbook"},
	"other/days from 1904": {content: "mac.xlsx", rows: aRow},
	"other/empty":          {content: "", finding: "it is empty"},
	"other/cut gzip":       {content: packed(head)[:12], finding: "it is damaged"},
	"other/cut late gzip": {content: packed(head + strings.Repeat(good, 9))[:90],
		finding: "it is damaged"},
	"other/cut parquet": {content: "PAR1\x15\x04\x15", finding: "Parquet is damaged"},
	"other/cut in the last line": {content: head + good + "2026-11-25,C2000000004,S1005,15",
		finding: "line 3: it has fewer values than the 6 columns of the heading, and is the last one: the file may " +
			"be cut"},
	"other/cut within a quote": {content: head + good + "2026-11-25,C2000000004,\"S10",
		finding: "line 3: it has fewer values than the 6 columns of the heading, and is the last one"},
	"other/cut below many lines": {content: head + manyRows(40) + "2026-10-31,C2000000004,S1005,15",
		finding: "and is the last one: the file may be cut"},
	"other/short words below the lines": {content: head + manyRows(40) + "made by,a tracker\n", sum: "20.00"},
	"other/cut in a line": {content: head + "2026-11-25,C20000",
		finding: "line 2: it has fewer values than the 6 columns"},
	"other/a quote that does not end": {content: head + good + `2026-11-25,"C2000000004,S1004,1500,20,240.30` + "\n" +
		good, finding: "line 3: a quote in it does not end, and takes in the lines after it"},
	"other/old line ends": {content: strings.ReplaceAll(head+good, "\n", "\r"), rows: aRow},
	"other/in euros": {content: head + "2026-11-25,C2000000004,S1004,1500,20,€240.30\n",
		finding: `"€240.30" is not an amount`},
}

// manyRows returns rows of an export with a revenue of 0.50 each.
func manyRows(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "2026-10-%02d,C20000000%02d,S1004,9,1,0.50\n", 1+i%28, 4-2*(i/28))
	}
	return b.String()
}

// TestRead_TakesPublicFormats reads every sample as a sync does, and compares the rows to store and the findings.
func TestRead_TakesPublicFormats(t *testing.T) {
	made := makeBinary(t)
	for name, s := range samples {
		if !schematest.Drawn(name, 3) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "export")
			content := []byte(s.content)
			if file, is := made[s.content]; is {
				content = file
			} else if strings.HasSuffix(s.content, ".csv") {
				var err error
				if content, err = os.ReadFile(filepath.Join("testdata", s.content)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			got := readAll(t, Options{Paths: []string{path}, Columns: s.columns, Campaigns: ofAccount})
			var sum schema.Money
			for _, r := range got.days {
				sum += r.Revenue.V
			}
			if rows := rowsText(got.days); s.sum == "" && rows != s.rows || s.sum != "" && sum.String() != s.sum {
				t.Errorf("stored, with a revenue of %s:\n%s\nwant:\n%s%s", sum, rows, s.rows, s.sum)
			}
			if said := got.said(); (said == "") != (s.finding == "") || !strings.Contains(said, s.finding) ||
				strings.Contains(said, "spendsync-files-") {
				t.Errorf("findings: %s\nwant: %s", said, s.finding)
			}
		})
	}
}

// rowsText formats rows in the way of [sample].
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

// makeBinary makes the binary files with the libraries for their formats.
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
	isMac := true
	if err := errors.Join(book.SetWorkbookProps(&excelize.WorkbookPropsOptions{Date1904: &isMac}),
		book.SetCellValue("Sheet1", "A2", 46351-1462)); err != nil {
		t.Fatal(err)
	}
	if b, err = book.WriteToBuffer(); err != nil {
		t.Fatal(err)
	}
	made["mac.xlsx"] = b.Bytes()
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	if _, err := z.Create("export.csv"); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	made["a.zip"] = archive.Bytes()
	if _, err := book.NewSheet("Sheet2"); err != nil {
		t.Fatal(err)
	}
	if err := book.SetSheetRow("Sheet2", "A1", &[]any{"date", "campaign_id", "source_id", "clicks"}); err != nil {
		t.Fatal(err)
	}
	if b, err = book.WriteToBuffer(); err != nil {
		t.Fatal(err)
	}
	made["twice.xlsx"] = b.Bytes()
	book = excelize.NewFile() // a workbook with a cover sheet
	if err := book.SetSheetRow("Sheet1", "A1", &[]any{"Report", "of November"}); err != nil {
		t.Fatal(err)
	}
	if _, err := book.NewSheet("Data"); err != nil {
		t.Fatal(err)
	}
	for i, row := range [][]any{{"Report of November"}, {}, {"date", "campaign_id", "source_id", "clicks",
		"conversions", "revenue"}, {"2026-11-25", "C2000000004", "S1004", "1,500", 20, "$240.30"},
		{"Total", "", "", 1500, 20, 240.3}} {
		if err := book.SetSheetRow("Data", fmt.Sprintf("A%d", i+1), &row); err != nil {
			t.Fatal(err)
		}
	}
	if b, err = book.WriteToBuffer(); err != nil {
		t.Fatal(err)
	}
	made["titled.xlsx"] = b.Bytes()
	for name, of := range map[string]struct{ cell, format string }{"euros.xlsx": {"F2", "#,##0.00\\ [$€-407]"},
		"dollars.xlsx": {"G2", "#,##0.00\\ [$€-407]"}, "formulas.xlsx": {"F2", "0"}, "day.xlsx": {"F2", "d mmm"},
		"share.xlsx": {"F2", "0%"}, "rounded.xlsx": {"F2", "$#,##0"}} {
		book := excelize.NewFile()
		style, err := book.NewStyle(&excelize.Style{CustomNumFmt: &of.format})
		for i, row := range [][]any{{"date", "campaign_id", "source_id", "clicks", "conversions", "revenue", "cost"},
			{46351, "C2000000004", "S1004", 1500, 20, 240.3, 7}} {
			err = errors.Join(err, book.SetSheetRow("Sheet1", fmt.Sprintf("A%d", i+1), &row))
		}
		switch name {
		case "formulas.xlsx":
			err = errors.Join(err, book.SetCellValue("Sheet1", "F2", nil), book.SetCellFormula("Sheet1", "F2", "G2*2"))
		case "day.xlsx":
			err = errors.Join(err, book.SetCellValue("Sheet1", "F2", 46360))
			fallthrough
		default:
			err = errors.Join(err, book.SetCellStyle("Sheet1", of.cell, of.cell, style))
		}
		b, failed := book.WriteToBuffer()
		if err = errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
		made[name] = b.Bytes()
	}
	// pyarrow stores decimals of more than 18 digits as FIXED_LEN_BYTE_ARRAY.
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
		"pandas.parquet":  "TIMESTAMP_NS '2026-11-25 00:00:00' AS date, 240.3::DOUBLE AS revenue",
		"texts.parquet":   "'2026-11-25' AS date, '240.30' AS revenue",
		"chicago.parquet": "TIMESTAMPTZ '2026-11-25 06:00:00+00' AS date, 240.3::DOUBLE AS revenue",
		"float.parquet":   "TIMESTAMPTZ '2026-11-25 00:00:00+00' AS date, 0.1::DOUBLE + 0.2::DOUBLE AS revenue",
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
