// Package shop is the account of the demo: a plausible outdoor shop on the simulated service, with three
// weeks that tell a story. One campaign wins and one loses, a pixel breaks and is repaired, creatives
// tire, a limit is hit and the balance runs low.
//
// It owns the names, the money and the events; the service is extract/adsim. Awkward names and faults of
// the service belong to the tests.
package shop
