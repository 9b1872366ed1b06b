package manifest

// bloat is how much larger than a new one the DuckDB file may grow before it is built from nothing: replaced days
// leave dead space.
const (
	bloat         = 1.8
	bloatFreeSize = 64 << 20
)

// GrownTooMuch reports whether the published DuckDB file is much larger than a new one would be, given the
// number of its rows that the next generation replaces.
func (m *Manifest) GrownTooMuch(dead int64) bool {
	w := m.Warehouse
	if w.BuiltRows == 0 {
		return false
	}
	row := float64(w.BuiltBytes) / float64(w.BuiltRows)
	will := float64(w.Bytes) + row*float64(dead)
	return will >= bloatFreeSize && will > bloat*row*float64(m.Rows())
}
