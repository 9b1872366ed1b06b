// Package config contains the options of a simulated service.
package config
