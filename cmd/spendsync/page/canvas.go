package page

import (
	"bytes"
	"fmt"
	"html"
	"image"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// canvas is a [vg.Canvas] that writes SVG for the page: colors are roles, and styles are classes of the page's
// style sheet. Its origin is in the bottom left corner.
type canvas struct {
	out   bytes.Buffer
	sheet *sheet
	w, h  vg.Length
	pens  []pen // the last one draws
}

// pen is the state that Push saves and Pop restores.
type pen struct {
	color  role
	width  vg.Length
	dashes []vg.Length
	groups int // open groups, each with a transform
}

func (s *sheet) canvas(w, h float64) *canvas {
	c := &canvas{sheet: s, w: vg.Length(w), h: vg.Length(h), pens: []pen{{}}}
	vg.Initialize(c)
	c.Scale(1, -1)
	c.Translate(vg.Point{Y: -c.h})
	return c
}

// svg returns the drawing. The canvas must not be used after it.
func (c *canvas) svg() string {
	c.closeGroups()
	return c.out.String()
}

func (c *canvas) pen() *pen { return &c.pens[len(c.pens)-1] }

// Size implements [vg.CanvasSizer].
func (c *canvas) Size() (w, h vg.Length) { return c.w, c.h }

// SetLineWidth implements [vg.Canvas], as do all methods below.
func (c *canvas) SetLineWidth(w vg.Length) { c.pen().width = w }

// SetLineDash ignores the offset: every dashed line here starts with a dash.
func (c *canvas) SetLineDash(dashes []vg.Length, _ vg.Length) { c.pen().dashes = dashes }

// SetColor takes every color but a role for ink.
func (c *canvas) SetColor(to color.Color) { c.pen().color, _ = to.(role) }

// Rotate turns later drawing by an angle in radians.
func (c *canvas) Rotate(by float64) { c.group("rotate(%s)", by*180/math.Pi) }

// Translate moves the origin.
func (c *canvas) Translate(by vg.Point) { c.group("translate(%s,%s)", by.X.Points(), by.Y.Points()) }

// Scale stretches later drawing.
func (c *canvas) Scale(x, y float64) { c.group("scale(%s,%s)", x, y) }

func (c *canvas) group(transform string, numbers ...float64) {
	texts := make([]any, len(numbers))
	for i, n := range numbers {
		texts[i] = digits(n)
	}
	fmt.Fprintf(&c.out, "<g transform=\""+transform+"\">", texts...)
	c.pen().groups++
}

func (c *canvas) closeGroups() { c.out.WriteString(strings.Repeat("</g>", c.pen().groups)) }

// Push saves the pen.
func (c *canvas) Push() {
	top := *c.pen()
	top.groups = 0
	c.pens = append(c.pens, top)
}

// Pop restores the pen that was saved last.
func (c *canvas) Pop() {
	c.closeGroups()
	c.pens = c.pens[:len(c.pens)-1]
}

// Stroke draws a line along a path.
func (c *canvas) Stroke(p vg.Path) {
	pen := c.pen()
	if pen.width <= 0 {
		return
	}
	style := "fill:none;stroke:" + pen.color.paint() + ";stroke-width:" + digits(pen.width.Points())
	if len(pen.dashes) > 0 {
		lengths := make([]string, len(pen.dashes))
		for i, d := range pen.dashes {
			lengths[i] = digits(d.Points())
		}
		style += ";stroke-dasharray:" + strings.Join(lengths, ",")
	}
	c.path(style, p)
}

// Fill fills a path.
func (c *canvas) Fill(p vg.Path) { c.path("fill:"+c.pen().color.paint(), p) }

func (c *canvas) path(style string, p vg.Path) {
	fmt.Fprintf(&c.out, `<path class="%s" d="`, c.sheet.class(style))
	for _, part := range p {
		switch part.Type {
		case vg.MoveComp:
			c.to("M", part.Pos)
		case vg.LineComp:
			c.to("L", part.Pos)
		case vg.ArcComp:
			c.arc(part)
		case vg.CurveComp:
			command := map[int]string{1: "Q", 2: "C"}[len(part.Control)]
			for _, at := range part.Control {
				c.to(command, at)
				command = " "
			}
			c.to(" ", part.Pos)
		case vg.CloseComp:
			c.out.WriteByte('Z')
		}
	}
	c.out.WriteString("\"/>\n")
}

func (c *canvas) to(command string, at vg.Point) {
	c.out.WriteString(command + digits(at.X.Points()) + "," + digits(at.Y.Points()))
}

// arc draws two halves: SVG rejects an arc whose ends coincide.
func (c *canvas) arc(a vg.PathComp) {
	at := func(angle float64) vg.Point {
		sin, cos := math.Sincos(angle)
		return vg.Point{X: a.Pos.X + a.Radius*vg.Length(cos), Y: a.Pos.Y + a.Radius*vg.Length(sin)}
	}
	sweep := 1
	if a.Angle < 0 {
		sweep = 0
	}
	c.to("L", at(a.Start))
	for _, half := range []float64{0.5, 1} {
		r := digits(a.Radius.Points())
		c.to(fmt.Sprintf("A%s,%s 0 0 %d ", r, r, sweep), at(a.Start+half*a.Angle))
	}
}

// FillString draws a text at its measured width: a browser that lacks the font uses another, and a
// wider one would stick out of the drawing or overlap its neighbors.
func (c *canvas) FillString(face font.Face, at vg.Point, text string) {
	length := ""
	if width := face.Width(text); width > 0 {
		length = fmt.Sprintf(` textLength="%s" lengthAdjust="spacingAndGlyphs"`, digits(width.Points()))
	}
	style := fmt.Sprintf("font-size:%spx;fill:%s", digits(face.Font.Size.Points()), c.pen().color.paint())
	fmt.Fprintf(&c.out, "<text%s x=\"%s\" y=\"%s\" transform=\"scale(1,-1)\" class=\"%s\">%s</text>\n", length,
		digits(at.X.Points()), digits(-at.Y.Points()), c.sheet.class(style), html.EscapeString(text))
}

// DrawImage is part of [vg.Canvas]; no drawing of the page has an image.
func (c *canvas) DrawImage(vg.Rectangle, image.Image) { panic("page: a drawing with an image") }

// digits writes a number of a drawing in five digits.
func digits(n float64) string { return fmt.Sprintf("%.5g", n) }
