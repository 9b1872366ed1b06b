package manifest

// The DuckDB file is built from nothing when dead space, which replaced rows leave, has made it bloat times as large as
// a new one. Files below bloatFreeSize may have any amount.
const (
	bloat         = 1.8
	bloatFreeSize = 64 << 20
)

// GrownTooMuch reports whether the DuckDB file must be built from nothing. dead is the number of its rows that the next
// generation replaces.
func (m *Manifest) GrownTooMuch(dead int64) bool {
	w := m.Warehouse
	if w.BuiltRows == 0 {
		return false
	}
	row := float64(w.BuiltBytes) / float64(w.BuiltRows)
	will := float64(w.Bytes) + row*float64(dead)
	return will >= bloatFreeSize && will > bloat*row*float64(m.Rows())
}
