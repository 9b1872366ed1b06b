// Package advertiser serves the advertiser API: reads, writes, keys, and openapi.json.
package advertiser
