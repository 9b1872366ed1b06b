// Package report answers the spend report.
package report
