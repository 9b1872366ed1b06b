package extract

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"spendsync/extract/service"
)

// describedForm rebuilds a reply of the report in the description's form: an object with
// columns, data and pagination. It is not ok if there is no way to do so, or two.
// A reply may have
//
//   - the whole under one of report_reply.wrappers of service.yaml, perhaps beside other keys;
//   - the rows under one of report_reply.rows, or nothing but them: [..];
//   - rows that are arrays, in the order of the columns;
//   - columns that are objects with a name, or none at all: then the keys of the rows name
//     them. If there are no rows either, a total of 0 or a bare [] must confirm it.
func describedForm(s *service.Service, body []byte) (rebuilt []byte, ok bool) {
	doc, err := document(body)
	if err != nil {
		return nil, false
	}
	reply, isObject := doc.Object()
	if isObject {
		reply, ok = unwrapReport(s, reply)
	} else {
		reply, ok = map[string]Value{"data": doc}, true
	}
	rows, isArray := reply["data"].Array()
	if !ok || !isArray {
		return nil, false
	}
	columns, ok := columnsOf(s, reply["columns"], rows)
	if pagination, _ := reply["pagination"].Fields(); len(columns) == 0 && isObject {
		total := Value(nil)
		for _, key := range s.Names("report_reply.total_rows") {
			if total == nil {
				total, _ = pagination[key].Number()
			}
		}
		ok = ok && string(total) == "0"
	}
	return appendReply(nil, reply, columns, rows), ok
}

// unwrapReport is the members of the object that holds the rows, under data, with those of
// the object around it. It is not ok where two could be meant.
func unwrapReport(s *service.Service, reply map[string]Value) (members map[string]Value, ok bool) {
	rowsKeys, columnsKeys := s.Names("report_reply.rows"), s.Names("report_reply.columns")
	has := func(in map[string]Value, keys []string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { return in[key] != nil })
	}
	for _, key := range s.Names("report_reply.wrappers") {
		inner, isObject := reply[key].Object()
		if !isObject || !has(inner, columnsKeys) && inner[rowsKeys[0]] == nil {
			continue
		}
		delete(reply, key)
		for name, value := range inner {
			if reply[name] != nil {
				return nil, false
			}
			reply[name] = value
		}
		break
	}
	for _, key := range columnsKeys {
		if reply[key] != nil && key != "columns" {
			if reply["columns"] != nil {
				return nil, false
			}
			reply["columns"] = reply[key]
			delete(reply, key)
		}
	}
	for i, key := range rowsKeys {
		// The first key is the usual one; under another there are rows only if columns are there, too.
		if _, isArray := reply[key].Array(); isArray && key != "data" && (i == 0 || reply["columns"] != nil) {
			if reply["data"] != nil {
				return nil, false
			}
			reply["data"] = reply[key]
			delete(reply, key)
		}
	}
	return reply, true
}

// columnsOf returns the names of the columns: from the list, from the names of the listed objects, or from the keys of
// the rows in the order of their first occurrence.
func columnsOf(s *service.Service, list Value, rows []Value) (names []string, ok bool) {
	if !list.Null() {
		columns, ok := list.Array()
		for _, c := range columns {
			if fields, isObject := c.Object(); isObject {
				c = fields[s.Names("report_reply.column_name")[0]]
			}
			name, isText := c.Text()
			names, ok = append(names, name), ok && isText
		}
		return names, ok
	}
	known := map[string]bool{}
	for _, row := range rows {
		d := newDecoder(row)
		if d.PeekKind() != '{' {
			return nil, false
		}
		err := d.object(func(name []byte) error {
			if !known[string(name)] {
				known[string(name)] = true
				names = append(names, string(name))
			}
			return d.SkipValue()
		})
		if err != nil {
			return nil, false
		}
	}
	return names, true
}

// appendReply appends a reply in the form of the description.
func appendReply(dst []byte, members map[string]Value, columns []string, rows []Value) []byte {
	dst = append(dst, `{"columns":[`...)
	for i, name := range columns {
		dst = appendName(dst, i, name)
	}
	dst = append(dst, `],"data":[`...)
	for i, row := range rows {
		if i > 0 {
			dst = append(dst, ',')
		}
		values, isArray := row.Array()
		if !isArray || len(values) != len(columns) {
			dst = append(dst, row...) // its reader judges it
			continue
		}
		dst = append(dst, '{')
		for i, v := range values {
			dst = append(append(appendName(dst, i, columns[i]), ':'), v...)
		}
		dst = append(dst, '}')
	}
	dst = append(dst, ']')
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name != "columns" && name != "data" {
			dst = append(append(appendName(dst, 1, name), ':'), members[name]...)
		}
	}
	return append(dst, '}')
}

// appendName appends the i-th name of a list or of an object.
func appendName(dst []byte, i int, name string) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	dst, _ = jsontext.AppendQuote(dst, name) // bytes that are not UTF-8 are U+FFFD already
	return dst
}
