package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// redacted stands for a secret.
const redacted = "[redacted]"

// Redactor removes the credentials of a request from a reply before anything is made of the
// reply, so that what a service repeats of them is stored nowhere.
//
// It looks into the texts and keys of the JSON only: a number is never altered. A text
// loses the credentials in plain, escaped, percent-encoded and in base64, alone or as part
// of more. A secret that may be ordinary data (see [maybeData]) is removed only together
// with the user or encoded, for an ID must not be altered; this is the limit of the
// promise. It cannot see a secret that is cut, reversed or encrypted.
type Redactor struct {
	header string   // the Authorization that it was made for
	forms  []string // the spellings that are replaced wherever they stand, the longest first
	words  []string // secrets of letters alone: replaced where they stand by themselves
	plain  []string // what shows a secret once a text is decoded
	coded  []string // parts of secrets in base64: the text around them is replaced, too

	searched []string // what one of is in every text with one of forms
	filter   filter
}

// minSecret is the length from which a secret alone is searched for: a shorter one occurs in
// ordinary texts.
const minSecret = 6

// IsFor reports whether the redactor is for the credentials of a request.
func (d *Redactor) IsFor(req *http.Request) bool {
	return d != nil && d.header == req.Header.Get("Authorization")
}

// New makes a redactor for the credentials of a request; nil: it has none.
func New(req *http.Request) *Redactor {
	header := req.Header.Get("Authorization")
	scheme, token, _ := strings.Cut(header, " ")
	if token == "" {
		return nil
	}
	d := &Redactor{header: header}
	inBase64 := []string{token}
	if strings.EqualFold(scheme, "Basic") {
		d.add(token, strings.TrimRight(token, "="), urlBase64.Replace(token))
		both, _ := base64.StdEncoding.DecodeString(token)
		_, password, _ := strings.Cut(string(both), ":")
		d.add(string(both))
		switch {
		case len(password) < minSecret:
			inBase64 = append(inBase64, string(both))
		case maybeData(password):
			inBase64 = append(inBase64, password)
		default:
			inBase64 = append(inBase64, password)
			d.addAlone(password)
		}
	} else if len(token) >= minSecret {
		d.addAlone(token)
	}
	for _, secret := range inBase64 {
		d.coded = append(d.coded, alignments(secret)...)
	}
	slices.SortFunc(d.forms, longestFirst)
	d.forms = slices.Compact(d.forms)
	d.filter = newFilter(slices.Concat(d.searched, d.words, d.coded))
	return d
}

// add adds secrets that are nothing but secrets.
func (d *Redactor) add(secrets ...string) {
	for _, s := range secrets {
		if len(s) < minSecret {
			continue
		}
		d.plain = append(d.plain, s)
		d.forms = append(d.forms, spellings(s)...)
		if run := clearRun(s); len(run) >= minSecret {
			d.searched = append(d.searched, run) // it is in all spellings
		} else {
			d.searched = append(d.searched, spellings(s)...)
		}
	}
}

// addAlone adds a secret that stands for itself.
func (d *Redactor) addAlone(secret string) {
	if strings.IndexFunc(secret, func(r rune) bool { return !isWordRune(r) || r == '_' || r >= '0' && r <= '9' }) < 0 {
		d.words = append(d.words, secret)
		return
	}
	d.add(secret)
}

var (
	numberLike = regexp.MustCompile(`^[0-9.,:+\- ]+$`)
	idLike     = regexp.MustCompile(`^[CS][0-9]+(-[0-9]+)?$`)
)

// maybeData reports whether a password may also occur as data: a number or a day, an ID, or a word of the service's
// interface.
func maybeData(password string) bool {
	return numberLike.MatchString(password) || idLike.MatchString(password) ||
		slices.Contains(interfaceWords, strings.ToLower(strings.ReplaceAll(password, "_", "")))
}

// interfaceWords are the keys and the values of the service's interface that are as long as
// a secret, in lower case without underscores.
var interfaceWords = strings.Fields(`
	accountid accountnotice active advertiser advertiserid allowed allowlist apikey archived attributes audience
	audiences autofunding available averagedailyspend balance bidoverrides blocked blocklist budget button1 button2
	campaign campaignid campaignname campaigns clicks columns content conversions country creative creativeiconurl
	creativeid creativeimageurl creatives creativemessage creativestatus creativetitle currency dailylimitreached
	dailyspendlimit defaultbid deliverystatus depleted desktop details enddate endat error errors expiresat gender
	hasmore iconid imageid impressions items keyexpirywarning keyinfo limit limits maxage message minage minutes
	mobile nextcursor nextoffset nextpage notenforcedsourceids offset optimized optimizedsourceids pagesize
	pageinfo pagination paused paymentmode pending pendingreview platforms prepaid rejected rejectioncomment
	rejectionreasons remaining requestid resetsat result results review scheduled settings sourceid sourceids
	sourcemode sources sourcesettings spend startdate startat states status subscribedlessthanminutesago
	subscribedmorethanminutesago success tablet targetcpa title totalcount totalitems totalpages totalresults
	totalrows totalspend unavailable unsupportedtargeting version waitingforcreatives waitingforfunds
	allcreativesrejected website websites wire write
`)

var urlBase64 = strings.NewReplacer("+", "-", "/", "_", "=", "")

// alignments are the parts of a secret's base64 that do not depend on the surrounding bytes: one for each offset in
// the groups of three bytes.
func alignments(secret string) (parts []string) {
	const shortest = 7
	for before := range 3 {
		code := base64.RawStdEncoding.EncodeToString([]byte("\x00\x00\x00"[:before] + secret))
		first, last := (8*before+5)/6, 8*(before+len(secret))/6
		if part := code[first:last]; len(part) >= shortest {
			parts = append(parts, part)
		}
	}
	return parts
}

// clearRun is the longest part of a secret that no encoding for URLs, HTML or JSON alters.
func clearRun(secret string) (longest string) {
	for _, run := range strings.FieldsFunc(secret, func(r rune) bool {
		return r >= 0x80 || !isWordRune(r) && !strings.ContainsRune("-.~", r)
	}) {
		if len(run) > len(longest) {
			longest = run
		}
	}
	return longest
}

func isWordRune(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' || r >= 0x80
}

// Reply returns the reply without the credentials, and reports whether it had any. A reply without credentials is
// returned unmodified, and costs less than reading it once.
func (d *Redactor) Reply(body []byte) (clean []byte, found bool) {
	if d == nil || !d.filter.in(body) && !d.inEscaped(body) {
		return body, false
	}
	rest := body
	for len(rest) > 0 {
		at := bytes.IndexByte(rest, '"')
		if at < 0 {
			break
		}
		end := at + quotedEnd(rest[at:])
		text := rest[at:end]
		clean = append(clean, rest[:at]...)
		rest = rest[end:]
		if secretFree, hit := d.redactText(text, isKey(rest)); hit {
			text, found = secretFree, true
		}
		clean = append(clean, text...)
	}
	if !found {
		return body, false
	}
	return append(clean, rest...), true
}

// quotedEnd returns the end of a JSON string at the start of the reply, after its second quote; a truncated string
// ends with the reply.
func quotedEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// jsonText appends the decoded text of a JSON string, with U+FFFD for invalid text.
func jsonText(dst, quoted []byte) []byte {
	dst, _ = jsontext.AppendUnquote(dst, quoted)
	return dst
}

// isKey reports whether the text before these bytes is the key of an object.
func isKey(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

// inEscaped looks into the texts with an escape, which may be one of a secret's letters.
func (d *Redactor) inEscaped(body []byte) bool {
	var text []byte
	for {
		at := bytes.IndexByte(body, '\\')
		if at < 0 {
			return false
		}
		begin := max(0, bytes.LastIndexByte(body[:at], '"'))
		end := begin + quotedEnd(body[begin:])
		text = jsonText(text[:0], body[begin:end])
		if d.filter.in(text) {
			return true
		}
		body = body[end:]
	}
}

// redactText removes the secrets from one JSON text.
func (d *Redactor) redactText(quoted []byte, key bool) (clean []byte, found bool) {
	text := string(jsonText(nil, quoted))
	secretFree := d.hide(text, key)
	if secretFree == text {
		return quoted, false
	}
	clean, err := jsontext.AppendQuote(nil, secretFree)
	if err != nil { // it is UTF-8, so this cannot be
		clean = []byte(`"` + redacted + `"`)
	}
	return clean, true
}

// hide removes the secrets from a text. The keys of an object must stay different, so in a
// key each spelling has a mark of its own.
func (d *Redactor) hide(text string, key bool) string {
	if d == nil {
		return text
	}
	n := 0
	mark := func() string {
		if n++; key {
			return fmt.Sprintf("[redacted %d]", n)
		}
		return redacted
	}
	for _, form := range d.forms {
		text = strings.ReplaceAll(text, form, mark())
	}
	for _, word := range d.words {
		text = replaceWord(text, word, mark())
	}
	for _, part := range d.coded {
		text = replaceCoded(text, part, mark())
	}
	if d.inDecoded(text) {
		return mark()
	}
	return text
}

// replaceWord replaces a word where neither a letter nor a digit nor an underscore touches it.
func replaceWord(text, word, mark string) string {
	var b strings.Builder
	for {
		at := strings.Index(text, word)
		if at < 0 {
			b.WriteString(text)
			return b.String()
		}
		end := at + len(word)
		touched := at > 0 && isWordRune(rune(text[at-1])) || end < len(text) && isWordRune(rune(text[end]))
		b.WriteString(text[:at])
		if touched {
			b.WriteString(word)
		} else {
			b.WriteString(mark)
		}
		text = text[end:]
	}
}

var stdBase64 = strings.NewReplacer("-", "+", "_", "/")

// replaceCoded replaces the base64 that a part of a secret stands in, to both of its ends.
func replaceCoded(text, part, mark string) string {
	isCode := func(c byte) bool { return c < 0x80 && isWordRune(rune(c)) || strings.IndexByte("+/-=", c) >= 0 }
	standard := stdBase64.Replace(text)
	var b strings.Builder
	from := 0
	for {
		at := strings.Index(standard[from:], part)
		if at < 0 {
			b.WriteString(text[from:])
			return b.String()
		}
		begin, end := from+at, from+at+len(part)
		for begin > from && isCode(text[begin-1]) {
			begin--
		}
		for end < len(text) && isCode(text[end]) {
			end++
		}
		b.WriteString(text[from:begin] + mark)
		from = end
	}
}

// inDecoded reports whether a text contains a secret once its percent signs or its HTML are decoded.
func (d *Redactor) inDecoded(text string) bool {
	if strings.IndexByte(text, '%') < 0 && strings.IndexByte(text, '&') < 0 {
		return false
	}
	decoded := html.UnescapeString(percentDecoded(text))
	return slices.ContainsFunc(d.plain, func(s string) bool { return strings.Contains(decoded, s) }) ||
		slices.ContainsFunc(d.words, func(s string) bool { return replaceWord(decoded, s, "") != decoded })
}

// percentDecoded decodes the percent-encoded parts of a text, and leaves the rest.
func percentDecoded(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			high, low := strings.IndexByte(hexDigits, text[i+1]|0x20), strings.IndexByte(hexDigits, text[i+2]|0x20)
			if high >= 0 && low >= 0 {
				b.WriteByte(byte(high<<4 | low))
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

const hexDigits = "0123456789abcdef"

// filter quickly proves that a text contains none of some patterns: it looks at one block of four bytes for each
// stride, which is so short that every pattern has a block in its place (Wu and Manber's search). A pattern is
// shortened to as many bytes as the shortest has.
type filter struct {
	patterns [][]byte
	length   int // of each pattern
	stride   int
	blocks   [1 << 16 / 64]uint64 // which blocks occur in the patterns, hashed
}

const (
	blockLength = 4
	// patternLength bounds the patterns: longer ones occur no less by accident, and the
	// strides are long enough.
	patternLength = 16
)

func newFilter(patterns []string) (f filter) {
	f.length = patternLength
	for _, p := range patterns {
		f.length = min(f.length, len(p))
	}
	f.stride = f.length - blockLength + 1
	for _, p := range patterns {
		// From the end: a key's beginning is the same for all.
		short := []byte(p[len(p)-f.length:])
		f.patterns = append(f.patterns, short)
		for i := range f.stride {
			for _, h := range blockHashes(binary.LittleEndian.Uint32(short[i:])) {
				f.blocks[h/64] |= 1 << (h % 64)
			}
		}
	}
	return f
}

// blockHashes are two bits for a block: the blocks of a page are few and come on every row,
// so one that had the bit of a pattern's block by accident would have it thousands of times.
func blockHashes(block uint32) [2]uint32 {
	return [2]uint32{block * 0x9e3779b1 >> 16, block * 0x85ebca6b >> 16}
}

// in reports whether one of the patterns is in a text.
func (f *filter) in(text []byte) bool {
	if len(f.patterns) == 0 {
		return false
	}
	for i := 0; i+blockLength <= len(text); i += f.stride {
		h := blockHashes(binary.LittleEndian.Uint32(text[i:]))
		if f.blocks[h[0]/64]&(1<<(h[0]%64)) == 0 || f.blocks[h[1]/64]&(1<<(h[1]%64)) == 0 {
			continue
		}
		around := text[max(0, i-f.stride+1):min(len(text), i+f.length)]
		for _, p := range f.patterns {
			if bytes.Contains(around, p) {
				return true
			}
		}
	}
	return false
}
