package queries

import _ "embed"

// Guide explains to a person or an AI assistant which view answers which question, and how answers are misread. It has
// at most 4 KB.
//
//go:embed GUIDE.md
var Guide string
