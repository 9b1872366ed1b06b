// Package variations changes the service's replies by quirks: plausible differences from the description.
package variations
