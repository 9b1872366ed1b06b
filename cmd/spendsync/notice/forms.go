package notice

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/config"
)

// limits has, by the kind of receiver, how many bytes of text one request may have. It leaves a margin to the
// documented limits: 4,096 for Telegram, 4,000 (recommended) for Slack, and 2,000 for Discord's /slack address, which
// counts as Slack here.
var limits = map[string]int{"telegram": 4000, "slack": 1900, "mail": 50_000, "json": 50_000}

// maxSentence is the maximum number of characters of the text in one message, because it may contain a long name.
const maxSentence = 600

// fits returns how many messages one request can hold, counted from the first message. The result is at least 1.
func fits(form, account string, all []Message) int {
	size := 0
	for i, m := range all {
		size += len(sentence(form, account, m)) + 1
		if i > 0 && size > limits[form] {
			return i
		}
	}
	return len(all)
}

// sentence returns a message as one line, which ends with the message's ID in brackets.
func sentence(form, account string, m Message) string {
	text := inert(form, m.Happened)
	if m.State == Over {
		text = "over: " + text
	} else {
		text += "; " + cli.Visible(cli.OneLine(m.Do))
	}
	if utf8.RuneCountInString(text) > maxSentence {
		text = string([]rune(text)[:maxSentence]) + "…"
	}
	text = account + ": " + text + " [" + m.ID + "]"
	if form == "slack" {
		return slackEscapes.Replace(text)
	}
	return text
}

var (
	slackEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	// active matches what chats turn into a link, mention, command or tag: a dot before a letter, or one of the signs @
	// # / : before a word.
	active = regexp.MustCompile(`[.]\pL|[@#/:][^\s0-9]`)
)

// inert changes a text so that a chat shows it as it is: whoever names a campaign must not be able to make a link or to
// mention a person. It inserts an invisible character (a word joiner) where a chat would see a link or a mention. Other
// receivers get the text unchanged: mail is plain text, and JSON has no markup.
func inert(form, text string) string {
	text = cli.Visible(cli.OneLine(text))
	if form != "slack" && form != "telegram" {
		return text
	}
	return active.ReplaceAllStringFunc(text, func(s string) string { return s[:1] + "\u2060" + s[1:] })
}

// Post sends messages to a receiver in one request.
func Post(ctx context.Context, r config.Receiver, account string, all []Message) error {
	var lines []string
	for _, m := range all {
		lines = append(lines, sentence(r.Form, account, m))
	}
	if r.Form == "mail" {
		return sendMail(ctx, r, account, all, lines)
	}
	text, err := json.Marshal(body(r, account, all, lines))
	if err != nil {
		return err
	}
	return send(ctx, http.MethodPost, r.URL, text)
}

// body returns the body of a request, in the format that the documentation of the receiver defines.
func body(r config.Receiver, account string, all []Message, lines []string) any {
	text := strings.Join(lines, "\n")
	switch r.Form {
	case "slack": // https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks/
		return map[string]any{"text": text, "mrkdwn": false, "unfurl_links": false, "unfurl_media": false}
	case "telegram": // https://core.telegram.org/bots/api#sendmessage
		return map[string]any{"chat_id": r.To, "text": text,
			"link_preview_options": map[string]any{"is_disabled": true}}
	}
	type notice struct {
		Message
		Text string `json:"text"`
	}
	var notices []notice
	for _, m := range all {
		m.At = m.At.UTC().Truncate(time.Second)
		notices = append(notices, notice{m, sentence("json", account, m)})
	}
	return map[string]any{"account": account, "notices": notices}
}

// subject returns the subject line of a mail: the kind and the state if there is one message, or the number of
// messages.
func subject(account string, all []Message) string {
	if len(all) == 1 {
		return fmt.Sprintf("spendsync %s: %s %s", account, all[0].Kind, all[0].State)
	}
	return fmt.Sprintf("spendsync %s: %d notices", account, len(all))
}
