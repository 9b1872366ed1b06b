package main

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"spendsync/extract/adsim"
)

// wording writes a creative.
func (l *life) wording(title string) wording {
	n := l.rng.IntN(2)
	return wording{title: l.name(title), message: "For {{=data.city||'you'}} | and \"more\"",
		link: "https://shop.example/?s=<<source_id>>", icon: l.icons[n], image: l.images[n], button1: "Click Here"}
}

// body is a creative as it is sent; what is not set is left out.
func (x wording) body() args {
	in := args{}
	for name, v := range map[string]string{"title": x.title, "message": x.message, "link": x.link, "image_id": x.image,
		"icon_id": x.icon, "button2": x.button2} {
		if v != "" {
			in[name] = v
		}
	}
	return in
}

func (l *life) add(draft bool, list ...wording) bool {
	a := l.pick(func(a *ad) bool { return isOpen(a) && len(a.creatives) < 12 })
	return a != nil && l.addTo(a, draft, list...)
}

func (l *life) addTo(a *ad, draft bool, list ...wording) bool {
	var bodies []args
	for _, x := range list {
		bodies = append(bodies, x.body())
	}
	got := l.must("create_creatives", args{"campaign_id": a.id, "creatives": bodies, "draft": draft})
	for i, m := range got["creatives"].([]any) {
		p := &piece{of: a, text: list[i], status: "draft"}
		if !draft {
			p.status, p.due = "pending_review", l.service.Now().Add(reviewTakes)
		}
		l.madePiece(p, m.(map[string]any))
	}
	return true
}

// madePiece notes a creative that was created, and holds the answer against it.
func (l *life) madePiece(p *piece, answer map[string]any) {
	l.t.Helper()
	p.id, p.of.acted = asText(answer["id"]), true
	p.of.creatives = append(p.of.creatives, p)
	l.agreesOn(p, answer)
}

func (l *life) agreesOn(p *piece, answer map[string]any) {
	l.t.Helper()
	var said piece
	said.take(answer)
	if got, want := said.cells(), p.cells(); said.id != p.id || !reflect.DeepEqual(got, want) {
		l.t.Errorf("%s: of creative %s the service answers\n%q\nhe knows\n%q", l.service.Now(), p.id, got, want)
	}
}

func (l *life) finishDraft() bool {
	p := l.piece(func(p *piece) bool { return p.status == "draft" })
	if p == nil {
		return false
	}
	p.text = l.wording("Finished")
	in := p.text.body()
	in["creative_id"], in["submit_for_review"] = p.id, true
	got := l.must("update_creative", in)
	p.status, p.due, p.of.acted = "pending_review", l.service.Now().Add(reviewTakes), true
	l.agreesOn(p, got)
	return true
}

// edit gives a creative of a status another title: in place, or as a version.
func (l *life) edit(status, title string) bool {
	p := l.piece(func(p *piece) bool { return p.status == status })
	if p == nil {
		return false
	}
	got := l.must("update_creative", args{"creative_id": p.id, "title": title, "button2": "No"})
	if status == "active" {
		next := p.text
		if p.next != nil {
			next = *p.next
		}
		next.title, next.button2 = title, "No"
		p.next = &next
	} else {
		p.text.title, p.text.button2 = title, "No"
		p.status, p.reasons, p.comment = "pending_review", "", ""
	}
	p.due, p.of.acted = l.service.Now().Add(reviewTakes), true
	l.agreesOn(p, got)
	return true
}

func (l *life) setPiece(from, to string) bool {
	p := l.piece(func(p *piece) bool {
		return p.status == from || from == "any" && p.status != "archived" && len(p.of.creatives) > 3
	})
	if p == nil {
		return false
	}
	got := l.must("set_creative_status", args{"creative_id": p.id, "status": to})
	if p.status = to; to == "archived" {
		p.reasons, p.comment, p.due, p.next = "", "", time.Time{}, nil
	}
	p.of.acted = true
	l.agreesOn(p, got)
	return true
}

func (l *life) clonePiece(elsewhere bool) bool {
	p := l.piece(func(p *piece) bool { return p.status != "draft" && len(p.of.creatives) < 12 })
	if p == nil {
		return false
	}
	in, to, title := args{"creative_id": p.id}, p.of, p.text.title
	if elsewhere {
		to = l.pick(func(a *ad) bool { return isOpen(a) && a != p.of && len(a.creatives) < 12 })
		if to == nil {
			return false
		}
		title = l.name("Moved")
		in["campaign_id"], in["title"] = to.id, title
	}
	c := &piece{of: to, text: p.text, status: "pending_review", due: l.service.Now().Add(reviewTakes)}
	c.text.title = title
	l.madePiece(c, l.must("clone_creative", in))
	return true
}

// verdict does what the reviewer says.
func (p *piece) verdict(v adsim.Verdict) {
	slices.Sort(v.Reasons)
	switch {
	case p.next != nil:
		if v.Approve {
			p.text = *p.next
		}
		p.next = nil // a rejected one is not shown in the creative itself
	case v.Approve:
		p.status = "active"
	default:
		p.status, p.reasons, p.comment = "rejected", strings.Join(v.Reasons, ","), v.Comment
	}
	p.due, p.of.acted = time.Time{}, true
}

// review is the reviewer, who is told.
func (l *life) review(v adsim.Verdict) bool {
	p := l.piece(func(p *piece) bool { return !p.due.IsZero() })
	if p == nil {
		return false
	}
	v.Creative = p.id
	if err := l.service.Review(v); err != nil {
		l.t.Fatal(err)
	}
	v.Reasons = slices.Clone(v.Reasons)
	p.verdict(v)
	l.agreesOn(p, l.must("get_creative", args{"creative_id": p.id}))
	return true
}

// reviewed is the reviewer who has taken his time: he minds what promises too much,
// and gives the reason in their own words.
func (l *life) reviewed(p *piece) {
	l.t.Helper()
	said := p.text
	if p.next != nil {
		said = *p.next
	}
	v := adsim.Verdict{Approve: !strings.Contains(said.title, "Guaranteed") && !strings.Contains(said.title, "miracle")}
	if !p.of.hidden && !p.hidden {
		answer := l.must("get_creative", args{"creative_id": p.id})
		if p.next == nil {
			v.Reasons, v.Comment = asTexts(answer["rejection_reasons"]), asText(answer["rejection_comment"])
		}
		p.verdict(v)
		l.agreesOn(p, answer)
		return
	}
	if !v.Approve {
		v.Reasons, v.Comment = []string{"misleading_claim"}, `Please leave out "guarantee".`
	}
	p.verdict(v)
}
