package extract

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"spendsync/extract/template"
)

// errUnfit reports that a page needs the strict decoder.
var errUnfit = errors.New("not by template")

// decodeByTemplate reads a reply as [decodeStrictly] does, its rows by package template, or returns [errUnfit].
func decodeByTemplate[T any](body []byte, room []T, form rowForm[T]) (pageReply[T], error) {
	const opening = `"data":[`
	at := bytes.Index(body, []byte(opening))
	if at < 0 {
		return pageReply[T]{}, errUnfit
	}
	page, ok := template.Rows(body, at+len(opening), room, template.Form[T]{
		Field: func(row *T, name []byte) *[]byte { return (*[]byte)(form.field(row, name)) },
		Object: func(d *jsontext.Decoder, member func(name []byte) error) error {
			return (&decoder{Decoder: d}).object(member)
		},
		MaxRows: maxPageRows, Options: json.JoinOptions(lenientTexts, anyNames),
	})
	if !ok {
		return pageReply[T]{}, errUnfit
	}
	// The rest is read strictly, with the rows cut out. Were the data found
	// somewhere else than at the top, they would stand in another place there.
	rest := append(body[:at+len(opening):at+len(opening)], body[page.End-1:]...)
	if !utf8.Valid(rest) {
		return pageReply[T]{}, errUnfit
	}
	d := newRowsDecoder(rest)
	found := false
	a, err := answerOf(&d, form, func(d *decoder) ([]T, error) {
		found = int(d.InputOffset()) == at+len(opening)-2 // before the colon
		if err := d.array("data", func() error { return errUnfit }); err != nil {
			return nil, err
		}
		for _, u := range page.Unknown {
			if !d.known["data[]."+string(u.Name)] {
				d.record("data[].", u.Name, kindName(u.Kind))
			}
		}
		return page.Rows, nil
	})
	if err != nil || !found {
		return pageReply[T]{}, errUnfit
	}
	a.unknown = d.unknown
	return a, nil
}
