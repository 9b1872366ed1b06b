// Package advertiser answers the advertiser API: reads and writes, keys, and the description of itself.
package advertiser
