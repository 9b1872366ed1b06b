// Package page draws the report that `spendsync report` writes: one self-contained HTML file. The package defines the
// look of the page and its five kinds of charts. It receives sections that consist of finished rows. It contains no
// SQL, store access, thresholds or verdicts: every number and every word about the account comes from a cell of these
// rows.
//
// A column that a reader sees is named "Heading|format"; other columns control the drawing. Every page has no script,
// makes no request, and has a content security policy that allows only the page's own style sheet by its hash. Names
// and texts of the account appear as text and never as markup. An unknown value is never shown as zero. The same [Page]
// always gives the same bytes.
package page
