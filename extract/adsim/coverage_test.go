package adsim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"spendsync/extract/adsim/advertiser"
)

// covered is one statement of the service's description, and the tests that show
// that the simulator keeps it. One of them says the words, where some are given.
type covered struct {
	what  string
	says  string
	tests string
}

// coverage is the whole description: every operation, rule, state, error and limit.
var coverage = []covered{
	// A. The operations; the rows of the table.
	{"operation get_api_key_info", "/v1/me", "TestWrite_NeedsAKeyThatMayWrite TestKeys_EndAreRenewedAndRevoked"},
	{"operation get_limits", "limitsOf", "TestBudget_IsUsedUpAndResetsAtMidnightUTC"},
	{"operation get_balance", "/v1/balance", "TestAPI_BalanceFollowsTheSpend TestFollow_WithoutFundsNothingIsSpent"},
	{"operation list_campaigns", "campaignsOf", "TestAPI_ListsCampaignsNewestFirst"},
	{"operation create_campaign", "/v1/campaigns", "TestCreateCampaign_TakesItsFieldsAndDefaults"},
	{"operation get_campaign", "/v1/campaigns/", "TestAPI_ListsCampaignsNewestFirst " +
		"TestSettings_AreWhatTheAPIShows"},
	{"operation update_campaign", "PATCH", "TestUpdateCampaign_ChangesWhatIsSentAndNothingElse"},
	{"operation set_campaign_status", "/status", "TestSetCampaignStatus_MovesAsDescribed"},
	{"operation clone_campaign", "/clone", "TestCloneCampaign_CopiesSettingsAndNewestCreatives"},
	{"operation list_creatives", "/creatives", "TestAPI_ListsCampaignsNewestFirst TestAPI_RefusesWithItsErrorBody"},
	{"operation create_creatives", "/creatives", "TestCreateCreatives_SubmitsOrKeepsDrafts"},
	{"operation get_creative", "/v1/creatives/", "TestAPI_ListsCampaignsNewestFirst"},
	{"operation update_creative", "/v1/creatives/", "TestUpdateCreative_OfARunningOneIsAVersion " +
		"TestUpdateCreative_OfADraft"},
	{"operation set_creative_status", "/status", "TestSetCreativeStatus_MovesAsDescribed"},
	{"operation clone_creative", "/clone", "TestCloneCreative_CopiesWithChanges"},
	{"operation upload_image", "/v1/images", "TestUploadImage_DecodesPNGJPEGAndGIF"},
	{"operation get_source_settings", "/sources", "TestAPI_SourceSettings"},
	{"operation set_source_bids", "/sources/bids", "TestSourceBids_AreHeldToTheRules"},
	{"operation block_sources", `"block"`, "TestBlockSources_ChangeTheListOfTheirMode"},
	{"operation unblock_sources", `"unblock"`, "TestBlockSources_ChangeTheListOfTheirMode"},
	{"operation allow_sources", `"allow"`, "TestAllowSources_KeepTheLast"},
	{"operation disallow_sources", `"disallow"`, "TestAllowSources_KeepTheLast"},
	{"operation get_openapi", "/v1/openapi.json", "TestOpenAPI_IsValid"},
	{"bodies have the fields of the table and no other", "no_such_field",
		"TestWrite_RefusesBodiesThatAreNoObjectOfTheirFields"},
	{"successful status 201 or 200", "201", "TestOpenAPI_NamesEveryOperationAndNoOther " +
		"TestCreateCampaign_TakesItsFieldsAndDefaults"},
	{"every operation is a tool of MCP with the same fields", "was not called", "TestMCP_ListsEveryOperationAsATool " +
		"TestMCP_CallsEveryTool"},
	{"tools refuse unknown fields", "colour", "TestMCP_ListsEveryOperationAsATool TestMCP_RefusesAsRESTDoes"},
	{"MCP is Streamable HTTP, stateless", "405", "TestMCP_RefusesAsRESTDoes"},
	{"openapi.json is OpenAPI 3.1 of version 1.0.0", "1.0.0", "TestOpenAPI_IsValid"},
	{"openapi.json is true to what is served", "", "TestOpenAPI_NamesEveryOperationAndNoOther " +
		"TestOpenAPI_RefusesWhatTheServiceRefuses TestAPI_IsAsItsDescriptionSays"},

	// A. Forms and fields.
	{"the forms of campaign and creative IDs", `\d{7,10}`, "TestAPI_ListsCampaignsNewestFirst"},
	{"the form of source IDs", "Repeat(\"S\", 41)", "TestSources_AtMost50ThatThereAre"},
	{"the form of image IDs", "[0-9a-f]{24}", "TestUploadImage_DecodesPNGJPEGAndGIF"},
	{"money is a number of US dollars, times are RFC 3339", "fieldBounds",
		"TestWrite_HoldsCampaignsToTheBoundsOfTheirFields"},
	{"bounds of name, default_bid, daily_spend_limit, target_cpa, start_date, end_date, audience", "fieldBounds",
		"TestWrite_HoldsCampaignsToTheBoundsOfTheirFields"},
	{"bounds of title, message, link, image_id, icon_id, button1, button2", "creativeBounds",
		"TestWrite_HoldsCreativesToTheBoundsOfTheirFields"},
	{"dynamic text has three forms; links have macros", "creativeBounds",
		"TestWrite_HoldsCreativesToTheBoundsOfTheirFields"},
	{"a sent audience replaces the whole audience and ends unsupported_targeting", "unsupported_targeting",
		"TestUpdateCampaign_ChangesWhatIsSentAndNothingElse"},
	{"only sent fields change; null ends end_date and target_cpa", "null",
		"TestUpdateCampaign_ChangesWhatIsSentAndNothingElse"},
	{"at least one field is sent", "{}", "TestUpdateCampaign_ChangesWhatIsSentAndNothingElse"},
	{"name, audience, default_bid and daily_spend_limit are required; start_date is now and status active by default",
		"missing", "TestCreateCampaign_TakesItsFieldsAndDefaults"},
	{"a campaign is created active or paused, nothing else", "archived",
		"TestCreateCampaign_TakesItsFieldsAndDefaults"},
	{"what is not sent is kept: what the dashboard has set, too", "unsupported_targeting",
		"TestUpdateCampaign_ChangesWhatIsSentAndNothingElse"},
	{"the daily limit can't be removed", "daily_spend_limit", "TestWrite_HoldsCampaignsToTheBoundsOfTheirFields"},
	{"button1 is Click Here by default; null clears", "Click Here", "TestCreateCreatives_SubmitsOrKeepsDrafts"},
	{"title, message, link and icon_id are required for review; any field suffices for a draft", "draft",
		"TestCreateCreatives_SubmitsOrKeepsDrafts"},
	{"image_id and icon_id are of images uploaded with their kind", "image_id", "TestWrite_KnowsItsImages"},
	{"rejected creatives have rejection_reasons and rejection_comment", "rejection_comment",
		"TestReview_RejectsBadTexts TestReview_OnCommand"},
	{"delivery_status is missing where it could not be read", "delivery_status", "TestAPI_LeavesOutWhatItCouldNotRead"},
	{"bid_overrides is null where they could not be read", "bid_overrides", "TestAPI_LeavesOutWhatItCouldNotRead"},
	{"not_enforced_source_ids names what has not taken effect", "not_enforced_source_ids",
		"TestSources_AtMost50ThatThereAre TestFollow_BlockedSourcesAreNotBought"},
	{"delivery_status takes each of its values", "all_creatives_rejected", "TestDeliveryStatus_TakesEachOfItsValues " +
		"TestFollow_LimitsEndTheDay"},
	{"a read of one campaign has its settings, bid, source targeting mode and delivery_status", "asServed",
		"TestSettings_AreWhatTheAPIShows"},
	{"a read of the sources has the mode, the lists and the bids", "bid_overrides", "TestAPI_SourceSettings"},
	{"the balance: available, payment mode, auto-funding of cards, the mean of seven days, the days it lasts",
		"days_left", "TestFunds_FallWithEveryClickAndEndDelivery TestAPI_BalanceFollowsTheSpend"},
	{"the key: its account, and whether it can make changes", "can_make_changes", "TestWrite_NeedsAKeyThatMayWrite"},
	{"the day's limits: used and when they are given anew, for each kind of change", "resets_at",
		"TestBudget_IsUsedUpAndResetsAtMidnightUTC"},
	{"lists are newest first", "created_at", "TestAPI_ListsCampaignsNewestFirst TestAPI_NewestCreativesFirst"},
	{"list filters: status with its defaults, search by name or ID", "search", "TestAPI_ListsCampaignsNewestFirst"},

	// A. Rules.
	{"default_bid, daily_spend_limit and target_cpa can at most double", "daily_spend_limit",
		"TestUpdateCampaign_AmountsCanAtMostDouble"},
	{"bids are at least 0.30 for new subscribers, age and gender", "10080", "TestUpdateCampaign_BidFollowsTheAudience"},
	{"the minimum holds for sources' bids, too", "/sources/bids", "TestUpdateCampaign_BidFollowsTheAudience"},
	{"a source's bid is at most three times the default bid; null resets it", "1.51",
		"TestSourceBids_AreHeldToTheRules"},
	{"optimize needs a target_cpa", "optimize", "TestSourceBids_AreHeldToTheRules"},
	{"the last allowed source stays", "disallow", "TestAllowSources_KeepTheLast"},
	{"block and unblock are of block lists, allow and disallow of allow lists", "conflict",
		"TestBlockSources_ChangeTheListOfTheirMode TestAllowSources_KeepTheLast"},
	{"dry_run checks and changes nothing", "dry_run", "TestSources_DryRunChangesNothing"},
	{"archived is permanent, of campaigns", "archived", "TestSetCampaignStatus_MovesAsDescribed"},
	{"archived is permanent, of creatives", "archived", "TestSetCreativeStatus_MovesAsDescribed"},
	{"pausing a campaign is always allowed where it is not archived", "paused",
		"TestSetCampaignStatus_MovesAsDescribed"},
	{"a pause takes seconds; activating meanwhile is a conflict", "cfgPause", "TestPause_TakesSecondsToFinish"},
	{"a clone copies audience, schedule, bid, limit, target CPA, sources and up to 20 newest creatives, which " +
		"go to review", "wanted", "TestCloneCampaign_CopiesSettingsAndNewestCreatives"},
	{"a clone needs a daily limit where the original has none", "no limit",
		"TestCloneCampaign_CopiesSettingsAndNewestCreatives"},
	{"a clone is paused unless active is asked for; include_creatives is on by default", "include_creatives",
		"TestCloneCampaign_CopiesSettingsAndNewestCreatives"},
	{"a creative is cloned into the same or another campaign, with changes", "campaign_id",
		"TestCloneCreative_CopiesWithChanges"},
	{"creatives are reviewed by people within a day and go live on their own", "23 * time.Hour",
		"TestReview_ApprovesAfterAWhile"},
	{"a rejected, pending or draft creative is updated in place and submitted", "resubmitted",
		"TestReview_RejectsBadTexts TestUpdateCreative_OfADraft"},
	{"a running creative keeps running until its new version is approved", "pending_version",
		"TestUpdateCreative_OfARunningOneIsAVersion"},
	{"only approval activates a pending or rejected creative", "pending_review",
		"TestSetCreativeStatus_MovesAsDescribed"},
	{"a campaign delivers once it has an approved creative and funds", "in review it has",
		"TestFollow_CreatedCampaignsDeliver TestFollow_WithoutFundsNothingIsSpent"},
	{"a paused campaign's delivery stops within seconds", "paused", "TestFollow_APauseStopsTheSpending"},
	{"nothing is delivered without funds; they are added outside of the API", "AddFunds",
		"TestFunds_FallWithEveryClickAndEndDelivery TestFunds_AreTheSameWhateverIsAskedBetween"},
	{"blocked sources are not bought; allow lists are all that is bought", "allow",
		"TestFollow_BlockedSourcesAreNotBought TestFollow_AllowListsAreAllThatIsBought"},
	{"the daily limit ends the day's delivery", "daily_limit_reached", "TestFollow_LimitsEndTheDay"},
	{"bids and audiences have consequences", "", "TestFollow_BidsMovePricesAndVolume " +
		"TestFollow_AudiencesMoveTheVolume"},
	{"images are PNG, JPEG or GIF of their shape", "image/gif", "TestUploadImage_DecodesPNGJPEGAndGIF " +
		"TestUploadImage_RefusesWhatIsNoImageOfTheKind"},
	{"either image_url or data_base64 with content_type", "both", "TestUploadImage_RefusesWhatIsNoImageOfTheKind"},
	{"image_url is https, public, downloaded once, its type read from the file", "asked",
		"TestUploadImage_FetchesAURLOnce TestUploadImage_AsksOnlyPublicAddresses"},
	{"the balance is cached for 10 minutes; fresh skips that", "9 * time.Minute", "TestAPI_BalanceFollowsTheSpend"},
	{"the balance's status is low or depleted, with a message, when funds are needed", "depleted",
		"TestAPI_BalanceFollowsTheSpend"},
	{"account_notice and key_expiry_warning come with MCP results", "account_notice",
		"TestMCP_TellsWhatRESTTellsInHeaders"},

	// A. Authentication.
	{"every endpoint needs the Bearer key", "nonsense", "TestAPI_WantsTheKey TestWrite_NeedsAKeyThatMayWrite"},
	{"a read key may not write", "forbidden", "TestWrite_NeedsAKeyThatMayWrite"},
	{"Service-Api-Key-Expires-At on every authenticated response", "Service-Api-Key-Expires-At",
		"TestWrite_NeedsAKeyThatMayWrite TestAPI_WantsTheKey"},
	{"Service-Api-Key-Expiry-Warning within 14 days", "Service-Api-Key-Expiry-Warning",
		"TestAPI_WantsTheKey TestKeys_EndAreRenewedAndRevoked"},
	{"a renewed key keeps its text; expired and revoked ones are unauthorized", "RenewKey",
		"TestKeys_EndAreRenewedAndRevoked"},
	{"MCP takes OAuth too: only MCP, may write, does not expire", "REST", "TestOAuth_SignsInOnMCPOnly"},
	{"an ID of another account is not found", "404", "TestAccounts_SeeOnlyTheirOwn"},

	// A. Errors.
	{"error body: code, message, details, request_id", "request_id", "TestAPI_RefusesWithItsErrorBody"},
	{"code validation_failed", "validation_failed", "TestAPI_RefusesWithItsErrorBody " +
		"TestWrite_HoldsCampaignsToTheBoundsOfTheirFields"},
	{"code unauthorized", "unauthorized", "TestAPI_WantsTheKey"},
	{"code forbidden", "forbidden", "TestWrite_NeedsAKeyThatMayWrite"},
	{"code not_found", "not_found", "TestAPI_RefusesWithItsErrorBody"},
	{"code conflict", "conflict", "TestSetCampaignStatus_MovesAsDescribed TestPause_TakesSecondsToFinish"},
	{"code rate_limited", "rate_limited", "TestAPI_Allows120RequestsInAnyMinute " +
		"TestBudget_IsUsedUpAndResetsAtMidnightUTC TestWrite_OneChangeAtATime"},
	{"code upstream_error", "upstream_error", "TestUpstreamError_MayHaveGoneThrough"},
	{"code unavailable", "unavailable", "TestUnavailable_PausingStillWorks"},
	{"code internal_error", "internal_error", "TestUpstreamError_MayHaveGoneThrough"},
	{"Retry-After with 429 and 503; over MCP retry_after_seconds", "retry_after_seconds",
		"TestMCP_TellsWhatRESTTellsInHeaders"},
	{"over MCP isError with the same JSON", "request_id", "TestMCP_RefusesAsRESTDoes"},
	{"pausing works while the service is unavailable", "paused", "TestUnavailable_PausingStillWorks"},

	// A. Limits.
	{"limit 120 requests a minute a key", "121", "TestAPI_Allows120RequestsInAnyMinute " +
		"TestRateLimit_IsPerKeyAndNotForPausing"},
	{"limit daily change budgets, reset at 00:00 UTC", "resets_at", "TestBudget_IsUsedUpAndResetsAtMidnightUTC " +
		"TestBudget_IsNotUsedByWhatIsRefused"},
	{"limit pausing is never limited", "never limited", "TestBudget_IsUsedUpAndResetsAtMidnightUTC " +
		"TestWrite_OneChangeAtATime TestRateLimit_IsPerKeyAndNotForPausing"},
	{"limit one change at a time for a campaign or creative, one create at a time", "another create",
		"TestWrite_OneChangeAtATime"},
	{"limit 50 sources a call", "51", "TestSources_AtMost50ThatThereAre"},
	{"limit 20 creatives a call", "21", "TestCreateCreatives_SubmitsOrKeepsDrafts"},
	{"limit 20 creatives copied", "< 20", "TestCloneCampaign_CopiesSettingsAndNewestCreatives"},
	{"limit image size 700 KB, 8 to 960000 characters", "960001", "TestUploadImage_RefusesWhatIsNoImageOfTheKind"},
	{"limit image download once", "/large", "TestUploadImage_FetchesAURLOnce"},
	{"limit image download within 10 seconds", "FetchTime", "TestUploadImage_GivesUpInTime"},
	{"limit list page 1 to 100, 25 by default, offset 0 to 10000", "offset=10001", "TestAPI_RefusesWithItsErrorBody " +
		"TestAPI_ListsCampaignsNewestFirst"},
	{"limit search 100 characters", "Repeat(\"x\", 101)", "TestAPI_RefusesWithItsErrorBody"},
	{"limit balance cache 10 minutes", "9 * time.Minute", "TestAPI_BalanceFollowsTheSpend"},
	{"limit 50 states", "fieldBounds", "TestWrite_HoldsCampaignsToTheBoundsOfTheirFields"},

	// B. The spend report.
	{"report columns and their order, by default and with include_creatives", "creative_title",
		"TestReport_DefaultColumns"},
	{"report columns are exactly those returned", "Columns", "TestReport_DefaultColumns"},
	{"report ranges of days, both ends in it", "", "TestReport_AnswersARangeInOrderOfDays"},
	{"report rows: one for campaign, creative and what columns add", "", "TestReport_SumsAgreeInEveryGrouping"},
	{"report creatives with zero spend are included", "", "TestReport_IncludesCreativesWithoutSpend"},
	{"report filters by campaign, creative and source", "", "TestReport_Filters"},
	{"report pages: page, page_size, total_rows, total_pages", "total_pages", "TestReport_PagesAddUpToTruth " +
		"TestReport_PageBeyondTheEndIsEmpty"},
	{"report dates are Chicago's", "Chicago", "TestClock_TodayIsAChicagoDay"},
	{"report errors 400, with their texts", "text", "TestReport_RefusesWithTheTextsOfTheDescription"},
	{"report errors 401 and 403, with their texts", "401", "TestReport_WantsTheRightCredentials"},
	{"report error 500 with a request ID", "500", "TestFault_StatusWithAndWithoutRetryAfter"},
	{"limit report window 32 days", "32", "TestReport_RefusesWithTheTextsOfTheDescription"},
	{"limit report page_size 1000, at most 10000", "10001", "TestReport_RefusesWithTheTextsOfTheDescription"},
	{"report before April 2026 had no pagination", "NoPagination", "TestFault_TotalsThatLie TestFault_ListsThatLie"},

	// C. Push sending.
	{"push transactional: multipart fields, psid or csid, icon", "csid", "TestTransactional_SendsToOneSubscriber"},
	{"push transactional: required fields", "missing", "TestTransactional_SendsToOneSubscriber"},
	{"push broadcast: to all subscribers of a website", "Website", "TestBroadcast_SendsToAllOfAWebsite"},
	{"push broadcast: website exactly as listed", "news.example/", "TestBroadcast_RefusesAsDocumented"},
	{"push broadcast: required fields, link and icon are URLs", "icon", "TestBroadcast_RefusesAsDocumented"},
	{"push broadcast: schedule as date or timestamp", "UnixMilli", "TestBroadcast_IsSentAtItsTimeAndFollowedUp"},
	{"push broadcast: external payload and externalerrors", "externalerrors", "TestBroadcast_RetrievesItsPayload"},
	{"push broadcast: ndelay", "ndelay", "TestBroadcast_SegmentsWithEveryOperator"},
	{"push broadcast: segment with every operator, rules combine with AND", "Operators",
		"TestBroadcast_SegmentsWithEveryOperator"},
	{"push broadcast: a rule has variable, operator and value", "operator", "TestBroadcast_RefusesAsDocumented"},
	{"push broadcast: subwaterfall with interval, enabled, qsegment", "qsegment",
		"TestBroadcast_IsSentAtItsTimeAndFollowedUp"},
	{"push broadcast: subwaterfall with externalpush and externalpusherrors", "externalpusherrors",
		"TestBroadcast_RetrievesItsPayload"},
	{"push broadcast: subwaterfall's required fields, URLs and types", "subwaterfall without",
		"TestBroadcast_RefusesAsDocumented"},
	{"push broadcast: Message with a capital M", "lower case", "TestBroadcast_RefusesAsDocumented"},
	{"push error 400 of what is not JSON", "Invalid request payload JSON format", "TestBroadcast_RefusesAsDocumented"},
	{"push error 401 invalid token", "invalid token", "TestBroadcast_RefusesAsDocumented " +
		"TestTransactional_SendsToOneSubscriber"},
	{"push token belongs to an account", "other.example", "TestPush_SubscribersCanBeAdded"},
}

// testSources are the tests of this package and of the command, by name, as text.
func testSources(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, dir := range []string{".", "../../cmd/adsim"} {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, text, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
					out[f.Name.Name] = string(text[set.Position(f.Pos()).Offset:set.Position(f.End()).Offset])
				}
			}
		}
	}
	return out
}

// TestCoverage_EveryStatementHasItsTest fails where a row of the description has no
// test, or one that there is not, or one that does not say what the row is about.
func TestCoverage_EveryStatementHasItsTest(t *testing.T) {
	tests := testSources(t)
	seen := map[string]bool{}
	for _, c := range coverage {
		if seen[c.what] {
			t.Errorf("%s: twice", c.what)
		}
		seen[c.what] = true
		names := strings.Fields(c.tests)
		if len(names) == 0 {
			t.Errorf("%s: no test", c.what)
		}
		said := false
		for _, name := range names {
			text, there := tests[name]
			if !there {
				t.Errorf("%s: there is no %s", c.what, name)
			}
			said = said || strings.Contains(text, c.says)
		}
		if !said {
			t.Errorf("%s: none of %s says %q", c.what, c.tests, c.says)
		}
	}
}

// TestCoverage_NothingIsLeftOut fails where the simulator has an operation, or the
// description an error, that is no row.
func TestCoverage_NothingIsLeftOut(t *testing.T) {
	has := func(what string) bool {
		return slices.ContainsFunc(coverage, func(c covered) bool { return c.what == what })
	}
	for _, op := range advertiser.Operations() {
		if !has("operation " + op.Name) {
			t.Errorf("operation %s is no row", op.Name)
		}
	}
	for _, code := range strings.Fields("validation_failed unauthorized forbidden not_found conflict rate_limited " +
		"upstream_error unavailable internal_error") {
		if !has("code " + code) {
			t.Errorf("code %s is no row", code)
		}
	}
}
