package world

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/market"
)

func (e *Editor) createCreative(cp *market.Campaign, in *fields) (string, error) {
	if err := e.editable(cp); err != nil {
		return "", err
	}
	cr, cf, err := e.NewCreative(cp)
	if err != nil {
		return "", err
	}
	cr.Title = "Creative " + strconv.Itoa(cr.Number)
	cr.Message = "Tap to see more."
	cr.Link = "https://offers.example/" + cp.ID
	cr.IconID = jsontext.Hex24(chance.Hash(cr.Key, chance.AboutIcon))
	status := "pending_review"
	cf.Status = &status
	return cr.ID, e.setCreative(cr, cf, in)
}

// NewCreative adds a creative of which nothing is set yet.
func (e *Editor) NewCreative(cp *market.Campaign) (*market.Creative, *ledger.CreativeChanges, error) {
	of := e.OfCampaign(cp.ID)
	number := of.LastNumber
	for _, cr := range cp.Creatives {
		_, digits, _ := strings.Cut(cr.ID, "-")
		n, _ := strconv.Atoi(digits) // it was printed as one
		number = max(number, n)
	}
	number++
	if of.LastNumber = number; number > 999_999 {
		return nil, nil, errors.New("there is no number left for a creative")
	}
	id, key := fmt.Sprintf("%s-%03d", cp.ID, number), chance.Hash(cp.Key, chance.AboutMade, uint64(number))
	cr := &market.Creative{
		Campaign:  cp,
		ID:        id,
		IDJSON:    jsontext.AppendString(nil, id, e.Account.Ascii),
		Key:       key,
		CreatedAt: e.St.Now.Truncate(time.Second),
		Archived:  market.Never,
		Number:    number,
		Weight:    1 + chance.Below(chance.Mix(key+1), 8),
	}
	of.Made = append([]*market.Creative{cr}, of.Made...)
	cf := e.OfCreative(cr.ID)
	cf.Base = cr
	return cr, cf, nil
}

func (e *Editor) editCreative(c Change, in *fields) error {
	campaignID, _, _ := strings.Cut(c.Creative, "-")
	cp := e.St.Campaign(campaignID)
	var cr *market.Creative
	if cp != nil {
		cr = e.St.Creative(cp, c.Creative)
	}
	if cr == nil {
		return fmt.Errorf("no creative %q", c.Creative)
	}
	of := e.OfCreative(cr.ID)
	if c.Do != "" {
		of.Hidden = Hidden(c.Do)
		return nil
	}
	if err := e.editable(cp); err != nil {
		return err
	}
	if e.St.CreativeStatus(cr) == "archived" && !e.force {
		return fmt.Errorf("creative %s is archived", cr.ID)
	}
	return e.setCreative(cr, of, in)
}

// setCreative takes the fields of a creative. What only a draft may lack is
// missing nowhere else.
func (e *Editor) setCreative(cr *market.Creative, of *ledger.CreativeChanges, in *fields) error {
	in.text("status", &of.Status, oneOf(market.CreativeStatuses...))
	needed := in.text
	if e.St.CreativeStatus(cr) == "draft" {
		needed = in.textOrNull
	}
	needed("title", &of.Title, length(1, 100))
	needed("message", &of.Message, length(1, 200))
	needed("link", &of.Link, isLink)
	needed("icon_id", &of.IconID, isImageID)
	in.textOrNull("image_id", &of.ImageID, isImageID)
	in.textOrNull("button1", &of.Button1, words(1, 25))
	in.textOrNull("button2", &of.Button2, words(1, 25))
	if in.has("rejection_reasons") || in.has("rejection_comment") {
		if status := e.St.CreativeStatus(cr); status != "rejected" {
			return fmt.Errorf("a creative that is %s has no rejection", status)
		}
	}
	in.texts("rejection_reasons", &of.RejectionReasons)
	in.text("rejection_comment", &of.RejectionComment, nil)
	if err := in.end(); err != nil {
		return err
	}
	now := e.St.CreativeNow(cr)
	if now.Status != "draft" && (now.Title == "" || now.Message == "" || now.Link == "" || now.IconID == "") {
		return errors.New("only a draft may lack title, message, link or icon_id")
	}
	return nil
}
