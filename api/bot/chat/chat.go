// Package chat has what the bot's workloads share: requests, the answers to them, and what a workload adds to the bot.
// Package bot assembles the parts.
package chat

import (
	"context"

	"stagecoach/api/words"
	"stagecoach/internal/operations/status"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
)

// Part is what one workload adds to the bot.
type Part struct {
	Commands     []Command
	Buttons      []Button
	Words        []Words
	LiveMessages map[string]LiveMessage // by the workload's name in the record
	Notices      map[string]FindNotice  // by the workload's name in the record
	Status       map[string]Status      // by the workload's name in the record
	words.Texts
}

// Status is how /status shows a workload: its counts by state under a heading, followed by its own lines.
type Status struct {
	Heading words.Text
	Lines   func(language string, now status.Status) []string // nil: none
}

// Handler carries out a request. args are those of a button; nil for commands and words.
type Handler func(ctx context.Context, r *Request, args Args) error

// Command is what a person can call by name. Buttons and plain words belong to a command too, so that each right is
// declared in one place.
type Command struct {
	Name  string     // without the slash
	About words.Text // description in the menu and in /help
	Open  bool       // also for people who are not approved yet
	Admin bool       // for administrators only, and audited
	Run   Handler
}

// Button is what an inline button's data means: "<prefix>:<argument>:…", at most 64 bytes.
type Button struct {
	Prefix  string
	Command string // the command whose right is required
	Run     Handler
}

// Words are plain words that belong to a command: an answer to the menu's question, or words with a meaning of their
// own, such as a link.
type Words struct {
	Command string // the command whose right is required
	Match   func(*Request) bool
	Run     Handler
}

// LiveMessage draws a message that follows an entity of one workload.
type LiveMessage struct {
	// Draw shows the current state of the entity to the viewer.
	Draw func(ctx context.Context, viewer account.User, id int64) (View, error)
	// Ended reports whether a state is final.
	Ended func(state string) bool
	// EveryEdits is how many edit intervals pass between two reads of the entity; 0 counts as 1.
	EveryEdits int
}

// FindNotice finds the subject of a notification, as the viewer may see it now, and returns the function that draws it.
// After an error that is not retryable the viewer is not notified.
type FindNotice func(ctx context.Context, viewer account.User, n notice.Notice) (DrawNotice, error)

// DrawNotice draws events of an entity, oldest first. The notification is already marked as sent, so drawing cannot
// fail.
type DrawNotice func(ctx context.Context, n notice.Notice, events []core.StreamedEvent) View
