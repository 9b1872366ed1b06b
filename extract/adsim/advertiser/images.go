package advertiser

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	img "image"
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"

	"spendsync/extract/adsim/wire"
	"spendsync/extract/adsim/world"
)

// MostImageBytes is how large an image may be.
const MostImageBytes = 700 * 1024

// uploadImage answers POST /v1/images.
func (s *API) uploadImage(c *Call) wire.Reply {
	up, p := s.imageOf(c.args)
	if p != nil {
		return s.Refuse(p)
	}
	return s.write(c, func(e edit) *problem { e.AddImage(up); return nil },
		func() wire.Reply { return created(one("image", up)) })
}

// imageOf reads the image of a body, or returns the problem with it.
func (s *API) imageOf(b body) (*world.Image, *problem) {
	field, data := "data_base64", []byte(nil)
	switch {
	case b.has("image_url") == b.has("data_base64"):
		return nil, invalidField("image_url", "expected either image_url or data_base64")
	case b.has("image_url") && b.has("content_type"):
		return nil, invalidField("content_type", "goes with data_base64; of a URL the type is read from the file")
	case b.has("image_url"):
		field = "image_url"
		var err error
		if data, err = s.files.Fetch(context.Background(), b.text("image_url"), MostImageBytes, "https"); err != nil {
			return nil, invalidField(field, "%v", err)
		}
	case !b.has("content_type"):
		return nil, invalidField("content_type", "is required with data_base64")
	default:
		var err error
		if data, err = base64.StdEncoding.Strict().DecodeString(b.text("data_base64")); err != nil {
			return nil, invalidField(field, "expected standard base64")
		}
	}
	up, err := decodeImage(data)
	if err != nil {
		return nil, invalidField(field, "%v", err)
	}
	if want := b.text("content_type"); want != "" && want != up.ContentType {
		return nil, invalidField("content_type", "the file is %s", up.ContentType)
	}
	up.Kind = b.text("kind")
	return up, checkShape(up, field)
}

// checkShape refuses an image of the wrong shape for its kind: 1:1 or 2:1.
func checkShape(up *world.Image, field string) *problem {
	switch {
	case up.Kind == world.KindIcon && up.Width != up.Height:
		return invalidField(field, "an icon is square; this is %dx%d", up.Width, up.Height)
	case up.Kind == world.KindImage && up.Width != 2*up.Height:
		return invalidField(field, "a large image is twice as wide as high; this is %dx%d", up.Width, up.Height)
	}
	return nil
}

// decodeImage reads the size and the type of a PNG, JPEG or GIF from the file.
func decodeImage(data []byte) (*world.Image, error) {
	if len(data) > MostImageBytes {
		return nil, fmt.Errorf("the image has %d bytes, at most %d are allowed", len(data), MostImageBytes)
	}
	size, format, err := img.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("expected a PNG, JPEG or GIF: %w", err)
	}
	return &world.Image{ContentType: "image/" + format, Width: size.Width, Height: size.Height, Size: len(data)}, nil
}
