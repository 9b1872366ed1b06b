package market

import (
	"strings"

	"spendsync/extract/adsim/chance"
)

// AwkwardNames returns campaign names of kinds that people use and that careless code damages: other scripts, quotes,
// markup, spreadsheet formulas, trailing blanks, the maximum length.
func AwkwardNames() []string {
	return []string{
		`=HYPERLINK("http://example.com";"Winter")`,
		"Черная пятница 🎉 -50%",
		"冬のセール・東京",
		"حملة الشتاء — ٢٠٪",
		`"Quoted" 'name' \ back`,
		"<script>alert('x')</script> & Co",
		"Retargeting 90d  ",
		strings.Repeat("Long tail, ", 9) + ".",
		"Robert'); DROP TABLE spend_daily;--",
		"a,b;c\td|e",
		"Ångström Zoë 👩‍👩‍👧‍👦 e\u0301",
		"NULL",
		"-1+2",
		"line\u2028separator\u00a0nbsp",
	}
}

var (
	nameTopics = []string{"Finance", "Sweepstakes", "Auto insurance", "Solar", "Games", "Dating 40+", "Weather app",
		"Crypto news", "Home security", "Health quiz", "Travel deals", "Streaming trial", "VPN", "Coupons",
		"Job alerts", "Pet food"}
	nameFormats = []string{"Desktop", "Mobile", "All devices", "New subscribers", "Evergreen", "Test B", "Weekend",
		"Lookalike"}

	titleTexts = []string{
		"Your quote is ready", "Last chance: 50% off", "Hey, {{=data.city||'friend'}}!", "Breaking, read now",
		"You have 1 new message", "Savings inside", "Today only", "We found 3 offers", "Check your eligibility",
		"Play now",
		"=1+1 deals", "Say \"yes\" to solar",
		"🔥 Hot right now", "本日限定セール", "عرض خاص", "<b>Bold</b> claim",
	}
	messageTexts = []string{
		"Compare rates, save up to $500 a year.", "Tap to see, before it is gone",
		"It takes 2 minutes. No card needed.",
		"Line one\nline two, with a comma", "{{=data.first_name||'You'}} qualified on {{#def.date('MMM D')}}",
		"Ends at midnight — don't miss it", "\"Best I ever used\", says everyone", "Free shipping; free returns",
		"Новые предложения рядом с вами", "今すぐ確認してください",
		"Tabs\tand trailing blanks  ", "C:\\path\\to\\deal",
	}
)

// campaignName returns the name of a campaign. Every second slot gets an awkward name, so that an account of the
// default size contains most of them at any time.
func campaignName(slot int, key uint64) string {
	awkward := AwkwardNames()
	if slot%2 == 1 {
		return awkward[slot/2%len(awkward)]
	}
	h := chance.Hash(key, chance.AboutText)
	return nameTopics[chance.Below(h, uint64(len(nameTopics)))] + " | " + nameFormats[chance.Below(chance.Mix(h),
		uint64(len(nameFormats)))]
}
