package market

import (
	"cmp"
	"slices"
)

// Nothing is the policy that never blocks a source.
var Nothing = Func(func(m *Morning) []bool { return m.Blocked })

// Oracle knows the true rate and the demand of each pair, and earns the maximum on each day. It sorts the pairs of a
// campaign, best first, and lets as many of them run as earn the most. It blocks the pairs that lose and, in a campaign
// with a limit, the pairs that would displace better ones.
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

// Tracker is the rule that every tracker offers: block a source that has spent three targets in 30 days, at a CPA above
// one and a half targets.
var Tracker = Func(func(m *Morning) []bool { return spentAndAbove(m, 3, 1.5) })

// Strict is the rule of Tracker with a limit of one target.
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

// sums returns the spend and the reported conversions of a pair in the last days.
func sums(m *Morning, p, days int) (spend, told float64) {
	for d := max(0, m.Day-days); d < m.Day; d++ {
		spend, told = spend+m.Spend[p][d], told+float64(m.Told[p][d])
	}
	return spend, told
}

// Plain is empirical Bayes over the reported rows of 30 days. The rate of each source is shrunk toward the rate of its
// campaign, by a gamma prior estimated from moments. A source is blocked if it is expected to bring back less than it
// costs.
var Plain = Func(func(m *Morning) []bool { return bayes(m, false) })

// Pooled is like Plain, but shrinks the rate of a source toward its rate in all campaigns together.
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
