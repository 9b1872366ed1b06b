package page

import (
	"fmt"
)

// Screen readers read the descriptions below in place of a drawing.

func describeSpend(v Spend, below string) string {
	if len(v.Days) == 0 {
		return ""
	}
	return fmt.Sprintf("A column for each day from %s to %s, made of the spend of %s and the rest; limits as a line; "+
		"changes of settings as marks above, the %s of seven days as a line below. The table below has every number.",
		day(v.Days[0].Date), day(v.Days[len(v.Days)-1].Date), countOf(len(v.Campaigns), "campaign"), below)
}

func describeSources(v Sources, dollars bool) string {
	in := "multiples of the target"
	if dollars {
		in = "US dollars"
	}
	return fmt.Sprintf("%s: spend in US dollars on a logarithmic scale to the right, cost per conversion in %s on a "+
		"logarithmic scale upwards, with the range that chance leaves. The table below has every number.",
		countOf(len(v.Rows), "source"), in)
}

func describeBids(v Bids) string {
	return fmt.Sprintf("%s: the bid to the right, what a click cost upwards, both in US dollars on logarithmic "+
		"scales, and the line where both are equal. The table below has every number.", countOf(len(v.Rows), "bid"))
}

func describeRunway(v Runway) string {
	return fmt.Sprintf("The balance of %s falls to %s in %s at %s a day.", money(v.Balance), money(v.Stop),
		about(v.DaysAtMean), money(v.Mean))
}

func describeTired(v Tired) string {
	return fmt.Sprintf("The click rate is %s now and was %s at its peak: %s lower.", percent(v.CTR), percent(v.Peak),
		percent(v.Decline))
}
