// Package page draws the report that `spendsync report` writes: one HTML file that
// needs nothing but itself. It owns the page's look, its drawings and its
// sentences, and takes its numbers as they come: it knows no SQL and no store.
//
// What it promises of every page: no script, no request, a content security
// policy that allows nothing but the page's own style sheet by its hash; names
// and texts of the account stand as text and never as markup; what is unknown is
// hatched and never zero; the same [Report] gives the same bytes.
package page
