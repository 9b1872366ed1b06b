package queries

import "testing"

func TestInline_WritesWhatIsNamedOnceInItsPlace(t *testing.T) {
	for name, c := range map[string]struct{ sql, want string }{
		"none": {"SELECT 1", "SELECT 1"},
		"once": {"WITH a AS (\n  SELECT 1 AS x\n)\nSELECT a.x FROM a", "SELECT a.x FROM (\n  SELECT 1 " +
			"AS x\n) AS a"},
		"with an alias": {"WITH a AS (SELECT 1 AS x) SELECT b.x FROM a AS b", "SELECT b.x FROM (SELECT 1 AS x) AS b"},
		"aliased itself": {
			"WITH a AS (SELECT 1 AS x) SELECT a.x FROM a AS a", "SELECT a.x FROM (SELECT 1 AS x) AS a",
		},
		"a chain": {
			"WITH a AS (SELECT 1 AS x),\nb AS (SELECT x FROM a WHERE x > 0)\nSELECT * FROM b JOIN c ON true",
			"SELECT * FROM (SELECT x FROM (SELECT 1 AS x) AS a WHERE x > 0) AS b JOIN c ON true",
		},
		"twice": {"WITH a AS (SELECT 1)\nSELECT * FROM a JOIN a AS b ON true", ""},
		"twice in others": {"WITH a AS (SELECT 1 AS x),\nb AS (SELECT * FROM a, (SELECT 1)),\nc AS (SELECT * FROM " +
			"a)\nSELECT * FROM b JOIN b AS b2 ON true JOIN c ON true JOIN c AS c2 ON true", ""},
		"recursive":       {"WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT * FROM a)\nSELECT * FROM a", ""},
		"named columns":   {"WITH a (x) AS (VALUES (1))\nSELECT * FROM a", ""},
		"how it is run":   {"WITH a AS MATERIALIZED (SELECT 1)\nSELECT * FROM a", ""},
		"after a comma":   {"WITH a AS (SELECT 1)\nSELECT * FROM t, a", ""},
		"a column's name": {"WITH a AS (SELECT 1 AS a)\nSELECT a FROM a", ""},
		"in a text": {"WITH a AS (SELECT 1 AS x)\nSELECT 'from a)', x FROM a", "SELECT 'from a)', x FROM " +
			"(SELECT 1 AS x) AS a"},
		"behind a comment": {"WITH a AS (\n  -- from a (\n  SELECT 1 AS x\n)\nSELECT x FROM a -- a",
			"SELECT x FROM (\n  -- from a (\n  SELECT 1 AS x\n) AS a -- a"},
		"never":            {"WITH a AS (SELECT 1)\nSELECT 2", ""},
		"another's schema": {"WITH a AS (SELECT 1)\nSELECT * FROM main.a", ""},
		"only one of two": {"WITH a AS (SELECT 1 AS x),\nb AS (SELECT x FROM a)\nSELECT * FROM b JOIN b AS c ON true",
			"WITH b AS (SELECT x FROM (SELECT 1 AS x) AS a)\nSELECT * FROM b JOIN b AS c ON true"},
		"a keeps its columns": {"WITH a (x, y) AS (VALUES (1, 2)), b AS (SELECT x FROM a JOIN a AS a2 ON true) " +
			"SELECT * FROM b",
			"WITH a (x, y) AS (VALUES (1, 2))\nSELECT * FROM (SELECT x FROM a JOIN a AS a2 ON true) AS b"},
	} {
		t.Run(name, func(t *testing.T) {
			want := c.want
			if want == "" {
				want = c.sql
			}
			if got := inline(c.sql); got != want {
				t.Errorf("inline(%s)\n = %s\nwant %s", c.sql, got, want)
			}
		})
	}
}

// TestViews_HaveFewClauses: what each takes in the file grows with the square of
// the number.
func TestViews_HaveFewClauses(t *testing.T) {
	views, err := Views(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range views {
		if clauses, _ := splitWith(v.SQL); len(clauses) > 10 {
			t.Errorf("%s.%s has %d clauses that are named twice", v.Schema, v.Name, len(clauses))
		}
	}
}
