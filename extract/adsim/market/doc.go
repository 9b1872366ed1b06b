// Package market generates an advertiser from a seed: its campaigns, creatives and sources (websites). It knows nothing
// of changes made to them later.
package market
