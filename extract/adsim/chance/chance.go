package chance

import (
	"fmt"
	"math/bits"
)

// The simulator uses no random generator. Every number that looks random is a hash of the object to which the number
// belongs, so that the number does not depend on the order of requests. Only integer arithmetic is used, because floats
// may round differently on another machine.

// Mix is the finalizer of splitmix64: every bit of x affects every bit of the result.
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Hash returns a number that looks random and depends only on the arguments.
func Hash(key uint64, about ...uint64) uint64 {
	for _, a := range about {
		key = Mix(key ^ Mix(a))
	}
	return key
}

// Below scales a hash to 0..n-1.
func Below(h, n uint64) uint64 {
	hi, _ := bits.Mul64(h, n)
	return hi
}

// Between scales a hash to lo..hi.
func Between(h uint64, lo, hi int) int {
	return lo + int(Below(h, uint64(hi-lo+1)))
}

// The purposes of a hash. Each is mixed into a key, so that one object has a different random number for each purpose.
const (
	AboutSlot = iota + 1
	AboutSource
	AboutRank
	AboutLife
	AboutPause
	AboutCreative
	AboutText
	AboutDay
	AboutRows
	AboutBid
	AboutSettings
	AboutAllowed
	AboutBlocked
	_ // unused; removing it would renumber the constants below and change every generated account
	AboutImage
	AboutIcon
	AboutMade
)

// Hex24 returns an ID of 24 hexadecimal characters that depends only on h.
func Hex24(h uint64) string { return fmt.Sprintf("%016x%08x", h, uint32(Mix(h))) }
