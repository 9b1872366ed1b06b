// Package recorded serves a recording of a service: the file that "spendsync record" writes.
//
// A request that was recorded gets its reply, with the days moved to those of today. Another day of the report gets
// the recorded day's rows, and a campaign that was not recorded the replies of one that was, under its own ID. What no
// recorded reply is like is answered with 404.
package recorded
