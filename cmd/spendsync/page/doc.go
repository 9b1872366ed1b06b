// Package page draws the report that `spendsync report` writes: one self-contained HTML file. It
// owns the page's look, its drawings and its sentences, and receives its numbers ready-made: it
// knows no SQL and no store.
//
// What it promises of every page: no script, no request, a content security policy that allows only
// the page's own style sheet by its hash; names and texts of the account appear as text and never
// as markup; an unknown value is hatched and never zero; the same [Page] gives the same bytes.
package page
