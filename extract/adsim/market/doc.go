// Package market generates an advertiser from a seed: its campaigns, creatives and websites, without any change
// made to them.
package market
