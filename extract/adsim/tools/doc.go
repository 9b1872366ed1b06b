// Package tools serves the advertiser API as tools of MCP, and the sign-in for it. Only services that want it link
// it.
package tools
