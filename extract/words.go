package extract

import (
	"fmt"
	"regexp"
)

// jsonToken matches texts, and the words, numbers and literals between them.
var jsonToken = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[A-Za-z0-9_.+-]+`)

// listWords replaces every bare word by a list that contains it as a text, for example ["NaN"]. No column accepts a
// list. Some services write NaN and Infinity in place of numbers; the rest of such a page is still usable.
func listWords(body []byte) []byte {
	return jsonToken.ReplaceAllFunc(body, func(token []byte) []byte {
		switch text := string(token); {
		case text[0] == '"', text == "null", text == "true", text == "false",
			isNumber(token):
			return token
		}
		return fmt.Appendf(nil, `["%s"]`, token)
	})
}
