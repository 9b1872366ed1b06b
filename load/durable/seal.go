package durable

import (
	"crypto/sha256"
	"errors"
	"regexp"
	"strings"
)

// A sealed JSON text contains its own SHA-256 in the second field, "checksum". The hash is computed over the text with
// zeros in place of the digits of the hash, so the hash covers every bit of the text. All formats share this rule, so
// an older binary can distinguish damage from a newer format.

// Unsealed is the placeholder for the hash in a text that is not sealed yet.
var Unsealed = strings.Repeat("0", sha256.Size*2)

// sealPlace matches the field with the hash.
var sealPlace = regexp.MustCompile(`"checksum": ?"([0-9a-f]{64})"`)

// SealWithin limits the position of the hash: it must be within this number of bytes from the start of the text.
const SealWithin = 128

// FindSeal returns the part of the text that holds the hash; nil if there is none.
func FindSeal(text []byte) []byte {
	at := sealPlace.FindSubmatchIndex(text[:min(len(text), SealWithin)])
	if at == nil {
		return nil
	}
	return text[at[2]:at[3]]
}

// Seal computes the hash of a text that contains the placeholder [Unsealed], writes the hash over the placeholder, and
// returns the hash. The text is changed in place.
func Seal(text []byte) string {
	hash := HashBytes(text)
	copy(FindSeal(text), hash)
	return hash
}

// CheckSeal reports whether a text is sealed, and returns an error if the text was changed after it was sealed. The
// caller decides whether a text without a checksum is acceptable.
func CheckSeal(text []byte) (sealed bool, err error) {
	if FindSeal(text) == nil {
		return false, nil
	}
	plain := append([]byte(nil), text...)
	hash := FindSeal(plain)
	recorded := string(hash)
	copy(hash, Unsealed)
	if HashBytes(plain) != recorded {
		return true, errors.New("its bytes are not those that were written: the checksum differs")
	}
	return true, nil
}
