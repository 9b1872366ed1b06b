package market

import (
	"math"
	"math/rand/v2"
)

// reach is the age in days at which the last conversions of a day arrive.
const reach = 28

// Kind describes the distributions from which worlds are drawn. Each spread is a standard deviation.
type Kind struct {
	Name               string
	Campaigns, Sources int
	History, Follow    int     // days before the first morning with advice; days with advice
	SpendPerDay        float64 // US dollars that a campaign spends, about
	Target             float64 // target CPA in US dollars, which is also the average CPA
	Worth              float64 // of a conversion, in targets
	SharedSpread       float64 // of the logarithm of the quality that a source has in all campaigns
	OwnSpread          float64 // of the logarithm of an additional quality in one campaign
	TwoKinds           bool    // instead of SharedSpread: a third of the sources is good, the others are bad
	Volume             float64 // spread of the logarithm of a source's size
	Dead               float64 // share of sources that hardly ever convert
	Turn, New          float64 // shares of pairs whose rate changes on some day, and of pairs that begin late
	Limited            float64 // share of campaigns with a limit of three quarters of the demand
	AtOnce, Late       float64 // share of conversions reported on the next morning; mean delay of the others in days
	CampaignSpread     float64 // of the logarithm of a campaign's quality
	Broken             Break
}

// Break is a loss of conversions: on some days, not all conversions of the first campaigns are counted.
type Break struct {
	Campaigns, From, Until int     // number of affected campaigns; first day; day after the last
	Lost                   float64 // share of the conversions that is never reported
}

// Usual is the default Kind. Other kinds change some of its fields.
var Usual = Kind{Name: "worth the target", Campaigns: 8, Sources: 120, History: 30, Follow: 30, SpendPerDay: 190,
	Target: 20, Worth: 1, SharedSpread: 0.6, OwnSpread: 0.5, Volume: 1.3, Dead: 0.12, Turn: 0.08, New: 0.15,
	Limited: 0.5, AtOnce: 0.4, Late: 6, CampaignSpread: 0.35}

// pair is a source of a campaign.
type pair struct {
	campaign, source int
	rate             []float64 // conversions per dollar, by day
	demand           []float64 // US dollars that the pair would spend without a limit, by day
}

// World is a simulated account with its true rates.
type World struct {
	Kind
	seed    uint64
	pairs   []pair
	limit   []float64 // US dollars a day, by campaign; 0: none
	arrived []float64 // share of a day's conversions that is reported at each age in days
}

// Draw draws a world.
func (k Kind) Draw(seed uint64) *World {
	r := rand.New(rand.NewPCG(seed, 39))
	w := &World{Kind: k, seed: seed, limit: make([]float64, k.Campaigns), arrived: make([]float64, reach+1)}
	for age := 1; age <= reach; age++ {
		w.arrived[age] = 1 - (1-k.AtOnce)*math.Exp(-float64(age-1)/k.Late)
	}
	w.arrived[reach] = 1
	spread := func(s float64) float64 { return math.Exp(s * r.NormFloat64()) }
	size, quality := make([]float64, k.Sources), make([]float64, k.Sources)
	for s := range k.Sources {
		size[s], quality[s] = spread(k.Volume), spread(k.SharedSpread)*math.Exp(-k.SharedSpread*k.SharedSpread/2)
		if k.TwoKinds {
			quality[s] = map[bool]float64{true: 2.2, false: 0.45}[r.Float64() < 1.0/3]
		}
		if r.Float64() < k.Dead {
			quality[s] *= 0.02
		}
	}
	days := k.History + k.Follow
	for c := range k.Campaigns {
		rate, first, total := spread(k.CampaignSpread)/k.Target, len(w.pairs), 0.0
		moves := make([]float64, days)
		for d := range moves {
			moves[d] = spread(0.15)
		}
		for s := range k.Sources {
			if r.Float64() < 0.45 {
				continue
			}
			p := pair{campaign: c, source: s, rate: make([]float64, days), demand: make([]float64, days)}
			own := rate * quality[s] * spread(k.OwnSpread) * math.Exp(-k.OwnSpread*k.OwnSpread/2)
			base, begins, turns, factor := size[s]*spread(0.5), 0, days, spread(1)
			if r.Float64() < k.New {
				begins = 1 + r.IntN(days-6)
			}
			if r.Float64() < k.Turn {
				turns = 5 + r.IntN(days-5)
			}
			for d := range days {
				p.rate[d] = own
				if d >= turns {
					p.rate[d] *= factor
				}
				if noise := spread(0.35); d >= begins {
					p.demand[d] = base * moves[d] * noise
				}
			}
			w.pairs, total = append(w.pairs, p), total+base
		}
		scale, sum := k.SpendPerDay*spread(0.5)/total, 0.0
		for _, p := range w.pairs[first:] {
			for d := range p.demand {
				p.demand[d] *= scale
				if d < k.History {
					sum += p.demand[d]
				}
			}
		}
		if r.Float64() < k.Limited {
			w.limit[c] = 0.75 * sum / float64(k.History)
		}
	}
	return w
}

// value returns the worth of the conversions that a dollar brings at a pair on a day, in US dollars.
func (w *World) value(p, day int) float64 { return w.pairs[p].rate[day] * w.Target * w.Worth }

// served returns the share of a campaign's demand that its limit allows.
func (w *World) served(campaign int, wanted float64) float64 {
	if limit := w.limit[campaign]; limit > 0 && wanted > limit {
		return limit / wanted
	}
	return 1
}

// Morning holds the numbers that are known before a day begins.
type Morning struct {
	World   *World
	Day     int         // the day that begins; earlier days are reported
	Spend   [][]float64 // by pair and day
	Told    [][]int64   // conversions so far, by pair and day
	Blocked []bool      // by pair, as on the day before
	changes []change    // of the reported conversions, in order
}

// change is an increase in the reported conversions of a day from one morning to the next.
type change struct {
	pair, day, seen int
	before, after   int64
}

// Policy decides every morning which pairs are blocked from then on.
type Policy interface{ Block(m *Morning) []bool }

// Func is a Policy made of one function.
type Func func(m *Morning) []bool

// Block calls the function.
func (f Func) Block(m *Morning) []bool { return f(m) }

// Play follows a policy. It returns the profit by the true rates, and which pairs are blocked at the end.
func Play(w *World, policy Policy) (profit float64, blocked []bool) {
	r := rand.New(rand.NewPCG(w.seed, 7))
	n, days := len(w.pairs), w.History+w.Follow
	m := &Morning{World: w, Blocked: make([]bool, n), Spend: make([][]float64, n), Told: make([][]int64, n)}
	due := make([][]int64, n)
	for p := range n {
		m.Spend[p], m.Told[p], due[p] = make([]float64, days), make([]int64, days), make([]int64, days)
	}
	for d := range days {
		if m.Day = d; d >= w.History {
			m.Blocked = policy.Block(m)
		}
		wanted := make([]float64, w.Campaigns)
		for i, p := range w.pairs {
			if !m.Blocked[i] {
				wanted[p.campaign] += p.demand[d]
			}
		}
		for i, p := range w.pairs {
			if m.Blocked[i] {
				continue
			}
			// The service bills whole millionths.
			spend := math.Round(p.demand[d]*w.served(p.campaign, wanted[p.campaign])*1e6) / 1e6
			told := 1.0
			if b := w.Broken; p.campaign < b.Campaigns && b.From <= d && d < b.Until {
				told = 1 - b.Lost
			}
			m.Spend[i][d], due[i][d] = spend, poisson(r, spend*p.rate[d]*told)
			if d >= w.History {
				profit += spend * (w.value(i, d) - 1)
			}
		}
		for day := max(0, d+1-reach); day <= d; day++ {
			age := d + 1 - day
			hazard := (w.arrived[age] - w.arrived[age-1]) / (1 - w.arrived[age-1])
			for i := range n {
				arrive := int64(0)
				for range due[i][day] {
					if r.Float64() < hazard {
						arrive++
					}
				}
				if arrive > 0 {
					if age > 1 {
						m.changes = append(m.changes, change{i, day, d + 1, m.Told[i][day], m.Told[i][day] + arrive})
					}
					m.Told[i][day], due[i][day] = m.Told[i][day]+arrive, due[i][day]-arrive
				}
			}
		}
	}
	return profit, m.Blocked
}

// poisson draws a count.
func poisson(r *rand.Rand, mean float64) int64 {
	if mean > 50 {
		return int64(math.Max(0, math.Round(mean+math.Sqrt(mean)*r.NormFloat64())))
	}
	n, p := int64(0), r.Float64()
	for limit := math.Exp(-mean); p > limit; n++ {
		p *= r.Float64()
	}
	return n
}
