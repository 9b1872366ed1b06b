package notice

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/spendsync/phrase"
)

// limits are the most characters of text that a form accepts in one request, with room to spare: Discord 2,000,
// Telegram 4,096, Slack 4,000 recommended, Teams 28 KB of JSON.
var limits = map[string]int{"discord": 1900, "telegram": 4000, "slack": 3900, "teams": 6000, "mail": 50_000,
	"json": 50_000}

// maxSentence limits one message: a name in it may be long.
const maxSentence = 600

// fits returns how many of the messages, at least one, one request can hold.
func fits(form, account string, all []Message) int {
	size := 0
	for i, m := range all {
		size += len(utf16.Encode([]rune(escape(form, sentence(account, m))))) + 1
		if i > 0 && size > limits[form] {
			return i
		}
	}
	return len(all)
}

// sentence is a message for a person, in one line, with its ID at the end.
func sentence(account string, m Message) string {
	text := m.Happened + "; " + m.Do
	if m.State == Over {
		text = "over: " + m.Happened
	}
	text = phrase.Visible(phrase.OneLine(text))
	if utf8.RuneCountInString(text) > maxSentence {
		text = string([]rune(text)[:maxSentence]) + "…"
	}
	return account + ": " + text + " [" + m.ID + "]"
}

var (
	slackEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	// Discord's markdown, mentions and headings; a backslash makes any ASCII punctuation literal.
	discordEscapes = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "~", `\~`, "`", "\\`", "|", `\|`, ">", `\>`,
		"<", `\<`, "#", `\#`, "-", `\-`, "+", `\+`, "[", `\[`, "]", `\]`, "(", `\(`, ")", `\)`, "@", `\@`, ":", `\:`)
)

// escape writes a text so that the receiver shows it literally: anybody may have chosen the name of a campaign.
// Telegram without parse_mode, a TextRun of an adaptive card, text/plain and JSON have no markup.
func escape(form, text string) string {
	switch form {
	case "slack":
		return slackEscapes.Replace(text)
	case "discord":
		return discordEscapes.Replace(text)
	}
	return text
}

// post sends messages to a receiver in one request, or, for Telegram, in one for each chat.
func post(ctx context.Context, r config.Receiver, account string, all []Message) error {
	var lines []string
	for _, m := range all {
		lines = append(lines, escape(r.Form, sentence(account, m)))
	}
	if r.Form == "mail" {
		return sendMail(ctx, r, account, all, lines)
	}
	bodies := []any{body(r, account, all, lines)}
	if r.Form == "telegram" {
		bodies = nil
		for _, chat := range r.Chats {
			bodies = append(bodies, map[string]any{"chat_id": chat, "text": strings.Join(lines, "\n"),
				"link_preview_options": map[string]any{"is_disabled": true}})
		}
	}
	client := newClient()
	for _, b := range bodies {
		text, err := json.Marshal(b)
		if err != nil {
			return err
		}
		err = send(ctx, client, func(ctx context.Context) (*http.Request, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL.String(), bytes.NewReader(text))
			if err == nil {
				req.Header.Set("Content-Type", "application/json; charset=utf-8")
				req.Header.Set("User-Agent", "spendsync")
			}
			return req, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// body returns the request body of a form, in the shape that its documentation defines.
func body(r config.Receiver, account string, all []Message, lines []string) any {
	text := strings.Join(lines, "\n")
	switch r.Form {
	case "slack": // https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks/
		return map[string]any{"text": text, "mrkdwn": false, "unfurl_links": false, "unfurl_media": false}
	case "discord": // https://discord.com/developers/docs/resources/webhook#execute-webhook
		const suppressEmbeds = 1 << 2
		return map[string]any{"content": text, "flags": suppressEmbeds,
			"allowed_mentions": map[string]any{"parse": []string{}}}
	case "teams": // an adaptive card, as the workflow "when a Teams webhook request is received" takes it
		var blocks []any
		for _, line := range lines {
			blocks = append(blocks, map[string]any{"type": "RichTextBlock",
				"inlines": []any{map[string]any{"type": "TextRun", "text": line}}})
		}
		return map[string]any{"type": "message", "attachments": []any{map[string]any{
			"contentType": "application/vnd.microsoft.card.adaptive",
			"content": map[string]any{"$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
				"type": "AdaptiveCard", "version": "1.2", "body": blocks}}}}
	}
	notices := make([]any, len(all))
	for i, m := range all {
		notices[i] = map[string]any{"id": m.ID, "state": m.State, "kind": m.Kind, "place": m.Place, "since": m.Since,
			"at": m.At.UTC().Format(time.RFC3339), "generation": m.Generation, "happened": m.Happened, "do": m.Do,
			"text": sentence(account, m)}
	}
	return map[string]any{"account": account, "notices": notices}
}

// subject is the subject of a mail.
func subject(account string, all []Message) string {
	if len(all) == 1 {
		return fmt.Sprintf("spendsync %s: %s %s", account, all[0].Kind, all[0].State)
	}
	return fmt.Sprintf("spendsync %s: %d notices", account, len(all))
}
