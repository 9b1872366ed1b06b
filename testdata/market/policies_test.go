package market

import (
	"cmp"
	"slices"
)

// Nothing blocks no source.
var Nothing = Func(func(m *Morning) []bool { return m.Blocked })

// Oracle knows the true rates and what each pair would take, and earns the most of each day: it lets the best pairs
// of a campaign run, down to those that lose, or under a limit to those that would only take the place of better
// ones.
var Oracle = Func(func(m *Morning) []bool {
	w := m.World
	blocked, of := make([]bool, len(w.pairs)), make([][]int, w.Campaigns)
	for i, p := range w.pairs {
		of[p.campaign] = append(of[p.campaign], i)
	}
	for c, all := range of {
		slices.SortFunc(all, func(a, b int) int { return cmp.Compare(w.value(b, m.Day), w.value(a, m.Day)) })
		wanted, gain, most, running := 0.0, 0.0, 0.0, 0
		for n, i := range all {
			demand := w.pairs[i].demand[m.Day]
			wanted, gain = wanted+demand, gain+demand*(w.value(i, m.Day)-1)
			if earned := gain * w.served(c, wanted); earned > most {
				most, running = earned, n+1
			}
		}
		for _, i := range all[running:] {
			blocked[i] = true
		}
	}
	return blocked
})

// Tracker is the rule that every tracker offers: three targets spent in 30 days, at a CPA above one and a
// half targets.
var Tracker = Func(func(m *Morning) []bool { return spentAndAbove(m, 3, 1.5) })

// Strict is the same rule with the target itself as the limit.
var Strict = Func(func(m *Morning) []bool { return spentAndAbove(m, 3, 1) })

func spentAndAbove(m *Morning, spent, above float64) []bool {
	blocked := append([]bool(nil), m.Blocked...)
	for p := range blocked {
		spend, told := sums(m, p, 30)
		if target := m.World.Target; spend >= spent*target && spend > above*target*told {
			blocked[p] = true
		}
	}
	return blocked
}

// sums are the spend and the told conversions of a pair in the last days.
func sums(m *Morning, p, days int) (spend, told float64) {
	for d := max(0, m.Day-days); d < m.Day; d++ {
		spend, told = spend+m.Spend[p][d], told+float64(m.Told[p][d])
	}
	return spend, told
}

// Plain is empirical Bayes over the rows of 30 days as told: each source of a campaign is shrunk to its
// campaign, by a gamma prior of moments, and blocked where it is expected to bring back less than it costs.
var Plain = Func(func(m *Morning) []bool { return bayes(m, false) })

// Pooled is the same, but shrinks a source to what it is in all campaigns together.
var Pooled = Func(func(m *Morning) []bool { return bayes(m, true) })

func bayes(m *Morning, pooled bool) []bool {
	w := m.World
	n := len(w.pairs)
	spend, told, expected := make([]float64, n), make([]float64, n), make([]float64, n)
	inSpend, inTold := make([]float64, w.Campaigns), make([]float64, w.Campaigns)
	for i, p := range w.pairs {
		spend[i], told[i] = sums(m, i, 30)
		inSpend[p.campaign], inTold[p.campaign] = inSpend[p.campaign]+spend[i], inTold[p.campaign]+told[i]
	}
	ofSource, toldOf := make([]float64, w.Sources), make([]float64, w.Sources)
	beyond, squares := 0.0, 0.0
	for i, p := range w.pairs {
		expected[i] = spend[i] * (inTold[p.campaign] + 1) / (inSpend[p.campaign] + w.Target)
		ofSource[p.source], toldOf[p.source] = ofSource[p.source]+expected[i], toldOf[p.source]+told[i]
		beyond += (told[i]-expected[i])*(told[i]-expected[i]) - expected[i]
		squares += expected[i] * expected[i]
	}
	shape := min(100, max(0.5, squares/max(beyond, 1e-9)))
	blocked := make([]bool, n)
	for i, p := range w.pairs {
		mean := 1.0
		if pooled {
			mean = (shape + toldOf[p.source]) / (shape + ofSource[p.source])
		}
		rate := (inTold[p.campaign] + 1) / (inSpend[p.campaign] + w.Target)
		quality := (shape*mean + told[i]) / (shape + expected[i])
		blocked[i] = quality*rate*w.Target*w.Worth < 1
	}
	return blocked
}
