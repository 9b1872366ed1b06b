package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shown names the tests that show a row of the catalogue; those without a package
// are here.
type shown struct {
	what  string
	tests string // separated by blanks
}

// serviceFaults are the faults of the service that somebody has thought of, each with
// the tests that bring it about. TestStreams_MeetEveryFault lets those of the wire
// strike every question, page and attempt; TestFault_OnAPageOfTheReport shows the exit
// codes, the last lines, and that nothing published changes.
var serviceFaults = map[string]shown{
	"A1": {"a body that is cut", "extract.TestClient_NeverTakesAPrefix extract.TestStreams_MeetEveryFault " +
		"TestFault_OnAPageOfTheReport TestFault_OnTheSettings"},
	"A2": {"bytes behind the reply", "extract.TestStreams_MeetEveryFault TestFault_OnAPageOfTheReport " +
		"TestFault_OnTheSettings"},
	"A3": {"a page for people", "extract.TestRetry_ShowsWhatCameInsteadOfJSON TestFault_OnAPageOfTheReport " +
		"TestFault_OnTheSettings"},
	"A4": {"null, empty, an empty object", "extract.TestStreams_MeetEveryFault TestFault_OnAPageOfTheReport " +
		"TestFault_OnTheSettings"},
	"A5": {"rows that shift between pages", "extract.TestSpend_IsASnapshotOrAnError " +
		"extract.TestSpend_NoticesShiftedRows TestFault_OnAPageOfTheReport"},
	"A6": {"a total that changes", "extract.TestSpend_RefusesPagesThatDoNotAddUp TestFault_OnAPageOfTheReport " +
		"TestFault_ATotalThatDiffers TestFault_OnTheSettings"},
	"A7":  {"a row left out and one twice", "extract.TestSpend_MeetsEveryFault TestFault_OnAPageOfTheReport"},
	"A8":  {"the same row twice", "TestFault_OnAPageOfTheReport"},
	"A9":  {"one key with two measures", "TestFault_OnAPageOfTheReport"},
	"A10": {"no pagination", "extract.TestSpend_AcceptsWhatIsWhole TestFault_OnAPageOfTheReport"},
	"A11": {"pages without end", "extract.TestSpend_RefusesPagesWithoutEnd " +
		"extract.TestCampaigns_SeesThatTheSamePageComesAgain TestFault_OnAPageOfTheReport"},
	"A12": {"a page without rows", "extract.TestSpend_RefusesPagesThatDoNotAddUp TestFault_OnAPageOfTheReport"},
	"A13": {"keys that nobody knows", "extract.TestSpend_RecordsUnknownKeys TestFault_OnceOnEveryDay"},
	"A14": {"columns in another order, rows as arrays", "TestFault_OnceOnEveryDay TestFault_OnAPageOfTheReport"},
	"A15": {"a key twice, or in another case", "extract.FuzzDecodeSpend TestFault_OnAPageOfTheReport " +
		"TestFault_OnTheSettings"},
	"A16": {"a measure that is null or absent", "TestFault_OnAPageOfTheReport"},
	"A17": {"negative numbers", "TestFault_OnAPageOfTheReport TestFault_OnTheControlTotal TestFault_OnTheSettings"},
	"A18": {"numbers too large", "schema.TestParseMoney_AgreesWithExactArithmetic TestFault_OnAPageOfTheReport " +
		"TestFault_OnTheSettings"},
	"A19": {"NaN, Infinity", "schema.TestParseMoney TestFault_OnAPageOfTheReport"},
	"A20": {"another type", "TestFault_OnAPageOfTheReport TestFault_OnTheSettings"},
	"A21": {"a status that nobody knows", "TestFault_UnknownStatuses"},
	"A22": {"texts that are none", "extract.FuzzDecodeSpend TestFault_OnAPageOfTheReport TestFault_OnTheSettings"},
	"A23": {"replies without end", "extract.TestSpend_RefusesMoreRowsThanAPageMayHave TestFault_BodiesWithoutEnd"},
	"A24": {"a gzip bomb", "extract.TestClient_CapsDecodedBytes TestFault_BodiesWithoutEnd"},
	"A25": {"401 at once and in the middle", "extract.TestClient_ReadsCredentialsAgainForAll " +
		"TestFault_RefusedInTheMiddle TestFault_OnAPageOfTheReport TestFault_OnTheSettings"},
	"A26": {"403 on a part", "TestFault_OnTheSettings TestFault_OnAPageOfTheReport " +
		"TestSettings_AWrongKeyExits3AndKeepsTheNumbers"},
	"A27": {"429, and every Retry-After", "extract.TestRetryAfter_IsRead extract.TestRetryAfter_AStormPasses " +
		"extract.TestLimiter_HoldsInEveryWindow extract.TestSettings_AThousandCampaignsKeepTheLimit " +
		"TestFault_OnAPageOfTheReport"},
	"A28": {"500 and 503", "extract.TestRetry_EndsWithItsBudget TestFault_OnAPageOfTheReport TestFault_OnTheSettings"},
	"A29": {"400: the day is too old", "extract.TestStreams_OnlyTheReportHasAReach TestFault_MidnightAtAnyRequest"},
	"A30": {"a reply that stalls", "extract.TestClient_TimesARequestWithItsBody TestFault_OnAPageOfTheReport " +
		"TestFault_OnTheSettings"},
	"A31": {"redirects", "extract.TestClient_NeverFollowsARedirect TestFault_OnAPageOfTheReport " +
		"TestFault_OnTheSettings"},
	"A32": {"a day that leaves the reach", "TestFault_MidnightAtAnyRequest"},
	"A33": {"midnight in Chicago", "schema.TestDate_IsTheChicagoDay TestFault_MidnightAtAnyRequest " +
		"TestFault_DaysOf23And25Hours"},
	"A34": {"days of 23 and 25 hours", "schema.TestDate_HoursOfEveryDay job.TestPlan_WalksOverClockChanges " +
		"TestFault_DaysOf23And25Hours"},
	"A35": {"clocks that differ", "extract.TestServiceTime_IsThatOfTheFurthestReply TestFault_ClocksThatDiffer " +
		"job.TestClock_TheServiceDecidesWhichDayIsOpen"},
	"A36": {"rows of another day, another account", "TestFault_OnAPageOfTheReport TestFault_OnTheSettings " +
		"TestSettings_RefusesAnotherAccount"},
	"A37": {"restated numbers", "TestSync_ExplainsEveryRestatement"},
	"A38": {"a day that comes back empty", "TestSync_ConfirmsAnEmptyAnswer"},
	"A39": {"certificates", "extract.TestClient_TrustsOnlyTheService extract.TestClient_GivesUpOnACertificateAtOnce " +
		"TestFault_TheWrongCertificate"},
	"A40": {"the network: DNS, reset, GOAWAY, proxies", "extract.TestRetry_SendsAgainWhatMayPass " +
		"extract.TestClient_SurvivesAServerThatGoesAway outbound.TestTransport_IsBounded TestFault_OnAPageOfTheReport"},
	"A41": {"ids that would be paths", "extract.TestIDs_HaveTheirForm extract.TestClient_AsksForNothingUnderAnOddID " +
		"TestFault_HostileTexts TestFault_OnAPageOfTheReport"},
	"A42": {"hostile names", "TestFault_HostileTexts"},
	"A43": {"fewer campaigns than before", "extract.TestCampaigns_AreWholeOrSaySo " +
		"TestSettings_DeletedAfterTwoCompleteAbsences TestFault_OnTheSettings"},
	"A44": {"errors without form", "extract.FuzzErrorBody extract.TestStreams_MeetEveryFault " +
		"TestFault_OnAPageOfTheReport"},
}

// security is the checklist. A row without a test says whose it is.
var security = map[string]shown{
	"S1": {"secrets from files, taken up when they rotate", "config.TestSecret_Files TestFault_RefusedInTheMiddle"},
	"S2": {"secrets that never print", "config.TestSecret_NeverPrints TestSecret_InAnAddress " +
		"extract.TestSecrets_AreHiddenHoweverTheyAreRepeated"},
	"S3": {"a canary through every fault", "TestSecret_AServiceThatRepeatsIt TestSecret_TheCanaryIsHeard " +
		"TestFault_OnAPageOfTheReport"},
	"S4": {"no secrets in DuckDB", "load.TestQuery_ReachesNothingElse"},
	"S5": {"https, one host, bounds on everything", "TestSecret_InAnAddress outbound.TestTransport_IsBounded " +
		"extract.TestClient_TrustsOnlyTheService extract.TestClient_NeverFollowsARedirect " +
		"extract.TestNewClient_RefusesUnsafeAddresses TestFault_BodiesWithoutEnd"},
	"S6": {"a budget for retries, waits that are floors", "extract.TestOutage_EndsInBoundedTime " +
		"extract.TestRetryAfter_IsAFloor extract.TestRetry_NeverSendsAgainWhatWillNot " +
		"extract.TestRetryAfter_AStormPasses"},
	"S7": {"values never become SQL", "schema.TestQuote TestFault_HostileTexts"},
	"S8": {"DuckDB reaches nothing else", "load.TestQuery_ReachesNothingElse"},
	"S9": {"ids never become paths", "extract.TestIDs_HaveTheirForm extract.TestClient_AsksForNothingUnderAnOddID " +
		"TestFault_HostileTexts"},
	"S10": {"only the job writes to its folder: the deployment's", ""},
	"S11": {"texts are stored exactly and logged on a line",
		"TestFault_HostileTexts TestSecret_AServiceThatRepeatsIt extract.FuzzErrorBody"},
	"S12": {"the pod's rights: the deployment's", ""},
	"S13": {"two runs at once", "TestSync_SecondRunExits9"},
	"S14": {"schedule and grace period: the deployment's; stopped by a signal", "TestSync_StoppedBySignal"},
	"S15": {"pinned and checked dependencies: .ci/run's", ""},
	"S16": {"a Go without the known mistakes: go.mod's", ""},
}

// TestCatalogue_EveryRowHasItsTest: no row of the catalogue lacks a test, and every
// test that it names is there.
func TestCatalogue_EveryRowHasItsTest(t *testing.T) {
	there := map[string]bool{}
	for pkg, dir := range map[string]string{
		"": ".", "config.": "../internal/config", "job.": "job", "extract.": "../../extract",
		"outbound.": "../../extract/outbound", "transform.": "../../transform", "schema.": "../../schema",
		"load.": "../../load",
	} {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no tests, %v", dir, err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
					there[pkg+f.Name.Name] = true
				}
			}
		}
	}
	for rows, catalogue := range map[int]map[string]shown{44: serviceFaults, 16: security} {
		for n := 1; n <= rows; n++ {
			id := fmt.Sprintf("%c%d", map[int]byte{44: 'A', 16: 'S'}[rows], n)
			row, ok := catalogue[id]
			if !ok || row.what == "" || row.tests == "" && !strings.Contains(row.what, ": ") {
				t.Errorf("%s has no test, and nobody else to show it", id)
			}
			for test := range strings.FieldsSeq(row.tests) {
				if !there[test] {
					t.Errorf("%s: there is no %s", id, test)
				}
			}
		}
		if len(catalogue) != rows {
			t.Errorf("%d rows, want %d", len(catalogue), rows)
		}
	}
	for _, f := range pageFaults {
		if !strings.Contains(serviceFaults[f.id].tests, "TestFault_OnAPageOfTheReport") {
			t.Errorf("%s strikes pages, and its row does not say so", f.id)
		}
	}
	for id, row := range serviceFaults {
		named := slices.Contains(strings.Fields(row.tests), "TestFault_OnAPageOfTheReport")
		if named && !slices.ContainsFunc(pageFaults, func(f pageFault) bool { return f.id == id }) {
			t.Errorf("%s is not among the faults of a page", id)
		}
	}
}
