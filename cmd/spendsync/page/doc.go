// Package page draws the report that `spendsync report` writes: one self-contained HTML file. It owns the page's look
// and its five kinds of charts. It receives sections of ready-made rows and knows no SQL, no store, no threshold and
// no verdict: every number and every word about the account is a cell.
//
// A column that a reader sees is named "Heading|format"; other columns direct the drawing. What it promises of every
// page: no script, no request, a content security policy that allows only the page's own style sheet by its hash; names
// and texts of the account appear as text and never as markup; an unknown value is never zero; the same [Page] gives
// the same bytes.
package page
