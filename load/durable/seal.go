package durable

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"strings"
)

// A sealed JSON text has its own SHA-256 in its second field, "checksum": the hash of the text with
// zeros in place of the hash's digits. So every bit of the text is covered. The rule is the same in
// every format, so that an older binary can distinguish damage from a newer format.

// Unsealed stands in a text for the hash that it is to get.
var Unsealed = strings.Repeat("0", sha256.Size*2)

// sealPlace is where the hash stands.
var sealPlace = regexp.MustCompile(`"checksum": ?"([0-9a-f]{64})"`)

// SealWithin is how far into a text the hash is looked for.
const SealWithin = 128

// FindSeal is the place of the hash within a text; nil: it has none.
func FindSeal(text []byte) []byte {
	at := sealPlace.FindSubmatchIndex(text[:min(len(text), SealWithin)])
	if at == nil {
		return nil
	}
	return text[at[2]:at[3]]
}

// Seal writes the hash into a text that has zeros in its place, and returns it.
func Seal(text []byte) string {
	sum := sha256.Sum256(text)
	hash := hex.EncodeToString(sum[:])
	copy(FindSeal(text), hash)
	return hash
}

// CheckSeal reports whether a text is sealed, and returns an error if it changed after it was
// sealed. A text without a checksum in the second field is not sealed: its format decides whether
// it may be so.
func CheckSeal(text []byte) (sealed bool, err error) {
	if FindSeal(text) == nil {
		return false, nil
	}
	plain := append([]byte(nil), text...)
	hash := FindSeal(plain)
	said := string(hash)
	copy(hash, Unsealed)
	if sum := sha256.Sum256(plain); hex.EncodeToString(sum[:]) != said {
		return true, errors.New("its bytes are not those that were written: the checksum differs")
	}
	return true, nil
}
