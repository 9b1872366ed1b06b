package loadtest

import "spendsync/schema/schematest"

// TriesAll is [schematest.All].
func TriesAll() bool { return schematest.All() }
