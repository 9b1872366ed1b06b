// Package market generates an advertiser from a seed: its campaigns, creatives and sources (websites). Later changes of
// the advertiser's settings are not known here.
package market
