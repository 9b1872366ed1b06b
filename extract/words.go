package extract

import (
	"fmt"
	"regexp"
)

// jsonToken finds texts, and the words, numbers and literals between them.
var jsonToken = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[A-Za-z0-9_.+-]+`)

// listWords puts every bare word into a list of one text, which no column and no count can be, as in ["NaN"]: a service
// whose language has them writes NaN and Infinity where JSON has a number, and nothing else of such a page is in doubt.
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
