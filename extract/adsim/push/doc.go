// Package push answers the push sending APIs.
package push
