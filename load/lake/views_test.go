package lake

import (
	"net/http"
	"strings"
	"testing"

	"spendsync/schema/schematest"
)

// TestFollow_MakesTheView: with the first commit, in the dialects of Spark and Trino, of tables of its own namespace in
// whatever catalog; again when another version of spendsync-lake commits, and replaced where its SQL is another.
func TestFollow_MakesTheView(t *testing.T) {
	schematest.Long(t)
	w, s := newWorld(t), sample(t)
	w.follow(s)
	is := func(sql string, versions int) {
		t.Helper()
		meta := w.Rest.View("spendsync", SpendView)
		if meta == nil || len(meta.Versions()) != versions {
			t.Fatalf("%+v, want %d versions", meta, versions)
		}
		v := meta.CurrentVersion()
		qualified := strings.ReplaceAll(sql, "@", `lake."spendsync".`)
		if len(v.Representations) != 2 || v.Representations[0].Sql != strings.ReplaceAll(sql, "@", "") ||
			v.Representations[1].Dialect != "trino" || v.Representations[1].Sql != qualified ||
			strings.Join(v.DefaultNamespace, ".") != "spendsync" || v.DefaultCatalog != "" {
			t.Errorf("%+v", v)
		}
		if fields := meta.CurrentSchema().Fields(); len(fields) != len(spendColumns) ||
			!strings.Contains(meta.Properties()["comment"], "Trap") {
			t.Errorf("%d columns, %v", len(fields), meta.Properties())
		}
	}
	is(spendSQL, 1)
	old := spendSQL
	defer func() { spendSQL = old }()
	spendSQL = "FROM @spend_daily"
	commit := func(version string) *Followed {
		t.Helper()
		s.Versions("acme", 3+len(version))
		s.Publish()
		o := w.options()
		o.Version = version
		done, err := followWith(t, o, s)
		if err != nil {
			t.Fatal(err)
		}
		w.check(w.open(), s)
		return done
	}
	requests := commit("test").Requests
	is(old, 1) // the same version looks no further
	if done := commit("newer"); done.Requests != requests+2 || done.NoView != "" {
		t.Errorf("%+v, %d requests before", done, requests)
	}
	is("FROM @spend_daily", 2)
	if done := commit("newest"); done.Requests != requests+1 {
		t.Errorf("%+v, %d requests before", done, requests)
	}
}

// TestFollow_WithoutTheView: what a catalog says of a view stops no commit.
func TestFollow_WithoutTheView(t *testing.T) {
	schematest.Long(t)
	w, s := newWorld(t), sample(t)
	w.Rest.NoViews = true
	if done := w.follow(s); done.NoView != "" {
		t.Errorf("%+v", done)
	}
	for _, status := range []int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotImplemented} {
		w, s := newWorld(t), sample(t)
		done, err := followWith(t, w.behind(func(rw http.ResponseWriter, r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/views") && refuse(rw, status, "no views here")
		}), s)
		if err != nil || !strings.Contains(done.NoView, "no views here") || done.IsNothing() {
			t.Errorf("%d: %+v, %v", status, done, err)
		}
		w.check(w.open(), s)
	}
}
