// Package dictionary describes tables and views, for people, programs and the warehouse itself: what each is, by
// subject, and what each column means.
package dictionary
