package queries

import _ "embed"

// Guide tells a reader, or an assistant, which view answers which question, and the traps: at most 4 KB.
//
//go:embed GUIDE.md
var Guide string
