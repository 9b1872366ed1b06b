package adsim

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

func (e *editor) createCreative(cp *campaign, in *fields) (string, error) {
	if err := e.editable(cp); err != nil {
		return "", err
	}
	cr, cf, err := e.newCreative(cp)
	if err != nil {
		return "", err
	}
	cr.title = "Creative " + strconv.Itoa(cr.number)
	cr.message = "Tap to see more."
	cr.link = "https://offers.example/" + cp.id
	cr.iconID = hex24(chance(cr.key, aboutIcon))
	status := "pending_review"
	cf.status = &status
	return cr.id, e.setCreative(cr, cf, in)
}

// newCreative adds a creative of which nothing is set yet.
func (e *editor) newCreative(cp *campaign) (*creative, *creativeChanges, error) {
	of := e.ofCampaign(cp.id)
	number := of.lastNumber
	for _, cr := range cp.creatives {
		_, digits, _ := strings.Cut(cr.id, "-")
		n, _ := strconv.Atoi(digits) // it was printed as one
		number = max(number, n)
	}
	number++
	if of.lastNumber = number; number > 999_999 {
		return nil, nil, errors.New("there is no number left for a creative")
	}
	id, key := fmt.Sprintf("%s-%03d", cp.id, number), chance(cp.key, aboutMade, uint64(number))
	cr := &creative{
		campaign:  cp,
		id:        id,
		idJSON:    appendString(nil, id, e.account.ascii),
		key:       key,
		createdAt: e.st.now.Truncate(time.Second),
		archived:  never,
		number:    number,
		weight:    1 + below(mix(key+1), 8),
	}
	of.made = append([]*creative{cr}, of.made...)
	cf := e.ofCreative(cr.id)
	cf.base = cr
	return cr, cf, nil
}

func (e *editor) editCreative(c Change, in *fields) error {
	campaignID, _, _ := strings.Cut(c.Creative, "-")
	cp := e.st.campaign(campaignID)
	var cr *creative
	if cp != nil {
		cr = e.st.creative(cp, c.Creative)
	}
	if cr == nil {
		return fmt.Errorf("no creative %q", c.Creative)
	}
	of := e.ofCreative(cr.id)
	if c.Do != "" {
		of.hidden = hidden(c.Do)
		return nil
	}
	if err := e.editable(cp); err != nil {
		return err
	}
	if e.st.creativeStatus(cr) == "archived" && !e.force {
		return fmt.Errorf("creative %s is archived", cr.id)
	}
	return e.setCreative(cr, of, in)
}

// setCreative takes the fields of a creative. What only a draft may lack is
// missing nowhere else.
func (e *editor) setCreative(cr *creative, of *creativeChanges, in *fields) error {
	in.text("status", &of.status, oneOf(creativeStatuses...))
	needed := in.text
	if e.st.creativeStatus(cr) == "draft" {
		needed = in.textOrNull
	}
	needed("title", &of.title, length(1, 100))
	needed("message", &of.message, length(1, 200))
	needed("link", &of.link, isLink)
	needed("icon_id", &of.iconID, isImageID)
	in.textOrNull("image_id", &of.imageID, isImageID)
	in.textOrNull("button1", &of.button1, words(1, 25))
	in.textOrNull("button2", &of.button2, words(1, 25))
	if in.has("rejection_reasons") || in.has("rejection_comment") {
		if status := e.st.creativeStatus(cr); status != "rejected" {
			return fmt.Errorf("a creative that is %s has no rejection", status)
		}
	}
	in.texts("rejection_reasons", &of.rejectionReasons)
	in.text("rejection_comment", &of.rejectionComment, nil)
	if err := in.end(); err != nil {
		return err
	}
	now := e.st.creativeNow(cr)
	if now.status != "draft" && (now.title == "" || now.message == "" || now.link == "" || now.iconID == "") {
		return errors.New("only a draft may lack title, message, link or icon_id")
	}
	return nil
}
