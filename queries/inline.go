package queries

import (
	"slices"
	"strings"
)

// inline writes each WITH clause that is named only once in the place where it is
// named. DuckDB 1.4 stores the clauses of a view again within each that follows, so
// that a view of sixteen takes a hundred kilobytes, and every opening of the file
// milliseconds to read it; as subqueries they take next to nothing. The rows are
// the same: DuckDB itself runs a clause that is named once in its place.
func inline(sql string) string {
	clauses, after := splitWith(sql)
	rest := &text{sql: after}
	for i := 0; i < len(clauses); {
		if !writeInPlace(clauses[i], clauses[i+1:], rest) {
			i++
			continue
		}
		clauses = slices.Delete(clauses, i, i+1)
	}
	if len(clauses) == 0 {
		return rest.sql
	}
	texts := make([]string, len(clauses))
	for i, c := range clauses {
		texts[i] = c.head + "(" + c.body.sql + ")"
	}
	return "WITH " + strings.Join(texts, ",\n") + "\n" + rest.sql
}

// text is a part of a query with its tokens, which are made once.
type text struct {
	sql    string
	tokens []token
}

func (t *text) list() []token {
	if t.tokens == nil {
		t.tokens = tokensOf(t.sql)
	}
	return t.tokens
}

// clause is one of a WITH: head is all before the parenthesis, body what is in it.
// One without a name stays where it is.
type clause struct {
	name, head string
	body       text
}

// splitWith takes apart a query that begins with WITH. One that does not, or that is
// recursive, comes back whole.
func splitWith(sql string) (clauses []*clause, rest string) {
	tokens := tokensOf(sql)
	if len(tokens) < 2 || !tokens[0].is("with") || tokens[1].is("recursive") {
		return nil, sql
	}
	depth, from, open := 0, tokens[0].end, 0
	for i, t := range tokens {
		switch t.text {
		case "(":
			if depth++; depth == 1 {
				open = t.start
			}
		case ")":
			if depth--; depth > 0 {
				continue
			}
			if i+1 < len(tokens) && tokens[i+1].is("as") {
				continue // the names of a clause's columns
			}
			c := &clause{head: strings.TrimLeft(sql[from:open], " \n,"), body: text{sql: sql[open+1 : t.start]}}
			// One that says more names its columns, or how it is run.
			if head := tokensOf(c.head); len(head) == 2 && head[1].is("as") {
				c.name = head[0].text
			}
			clauses = append(clauses, c)
			if i+1 == len(tokens) || tokens[i+1].text != "," {
				return clauses, strings.TrimSpace(sql[t.end:])
			}
			from = tokens[i+1].end
		}
	}
	return nil, sql
}

// writeInPlace puts the clause where it is named, if that is once and as a table.
func writeInPlace(c *clause, later []*clause, rest *text) bool {
	if c.name == "" {
		return false
	}
	places := []*text{rest}
	for _, l := range later {
		places = append(places, &l.body)
	}
	var in *text
	var at, after token
	for _, p := range places {
		if !strings.Contains(p.sql, c.name) {
			continue
		}
		tokens := p.list()
		for i, t := range tokens {
			if !t.is(c.name) || i+1 < len(tokens) && tokens[i+1].text == "." || i > 0 && tokens[i-1].text == "." {
				continue
			}
			if in != nil || i == 0 || !tokens[i-1].is("from") && !tokens[i-1].is("join") {
				// Its alias is not itself: FROM x AS x.
				if i > 0 && tokens[i-1].is("as") {
					continue
				}
				return false
			}
			in, at, after = p, t, token{}
			if i+1 < len(tokens) {
				after = tokens[i+1]
			}
		}
	}
	if in == nil {
		return false
	}
	alias := ""
	if !after.is("as") {
		alias = " AS " + c.name
	}
	*in = text{sql: in.sql[:at.start] + "(" + c.body.sql + ")" + alias + in.sql[at.end:]}
	return true
}

// token is a word, a text in quotes or a sign of a query, and where it is.
type token struct {
	text       string
	start, end int
}

func (t token) is(word string) bool { return strings.EqualFold(t.text, word) }

// tokensOf are the tokens of a query without its comments.
func tokensOf(sql string) []token {
	tokens := make([]token, 0, len(sql)/4)
	for i := 0; i < len(sql); {
		start := i
		switch c := sql[i]; {
		case c <= ' ':
			i++
			continue
		case strings.HasPrefix(sql[i:], "--"):
			i += lengthTo(sql[i:], '\n')
			continue
		case c == '\'' || c == '"':
			// A doubled quote ends one text and begins another: the same to us.
			i += 1 + lengthTo(sql[i+1:], c)
		case isWord(c):
			for i < len(sql) && isWord(sql[i]) {
				i++
			}
		default:
			i++
		}
		tokens = append(tokens, token{sql[start:i], start, i})
	}
	return tokens
}

// lengthTo is how far it is to the end of the first such character, or of the text.
func lengthTo(s string, c byte) int {
	if i := strings.IndexByte(s, c); i >= 0 {
		return i + 1
	}
	return len(s)
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
