// Package config is what a simulated service can be asked to be.
package config
