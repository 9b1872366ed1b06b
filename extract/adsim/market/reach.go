package market

// countryReach is how many of a thousand subscribers are in a country.
var countryReach = map[string]uint64{"US": 560, "CA": 60, "DE": 60, "AU": 40, "GB": 80, "SG": 10, "AE": 10, "FR": 50,
	"IT": 40, "JP": 50, "IL": 10, "IE": 10, "HK": 10, "NL": 10}

var platformReach = map[string]uint64{"DESKTOP": 42, "MOBILE": 46, "TABLET": 9, "OTHER": 3}

// Reach is how many of the subscribers an audience has, in 1048576ths, and 1 at least.
func (a *Audience) Reach() uint64 {
	r := uint64(1 << 20)
	if a.Country != "" {
		r = r * countryReach[a.Country] / 1000
	}
	if a.Country == "US" && len(a.States) > 0 {
		r = r * uint64(len(a.States)) / 50
	}
	if len(a.Platforms) > 0 {
		sum := uint64(0)
		for _, p := range a.Platforms {
			sum += platformReach[p]
		}
		r = r * sum / 100
	}
	const minutes = 5_256_000
	if a.MoreThan > 0 {
		r = r * uint64(minutes-a.MoreThan+minutes/50) / (minutes + minutes/50)
	}
	if a.LessThan > 0 {
		r = r * uint64(a.LessThan+minutes/50) / (minutes + minutes/50)
	}
	if a.MinAge > 0 || a.MaxAge > 0 {
		oldest := 120
		if a.MaxAge > 0 {
			oldest = a.MaxAge
		}
		r = r * uint64(max(1, oldest-max(a.MinAge, 13)+1)) / 108
	}
	if a.Gender != "" {
		r /= 2
	}
	return max(1, r)
}
