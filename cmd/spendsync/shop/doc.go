// Package shop simulates the advertiser account of the demo: an outdoor shop that advertises for three weeks. One
// campaign wins and one loses, a pixel breaks and is repaired, creatives tire, a limit is hit and the balance runs low.
//
// This package defines the names, the amounts and the events; extract/adsim simulates the service itself. The demo has
// no difficult names and no failures of the service: these are for tests.
package shop
