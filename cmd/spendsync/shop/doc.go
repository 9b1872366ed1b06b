// Package shop simulates the account of the demo: a plausible outdoor shop on the simulated service, with a story of
// three weeks. One campaign wins and one loses, a pixel breaks and is repaired, creatives tire, a limit is hit and the
// balance runs low.
//
// The package defines the names, the amounts and the events; extract/adsim simulates the service. The demo has no
// awkward names and no faults of the service, which are for tests.
package shop
