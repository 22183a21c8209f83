// Package chat is what the bot's workloads have in common: requests of people, what answers them, and what a workload
// adds to the bot. Package bot puts the parts together.
package chat

import (
	"context"
	"maps"

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
	Texts
}

// Texts are what a workload adds to the texts that the bot says for all workloads.
type Texts struct {
	Faults     Faults
	Quotas     map[string]Text // which limit is reached, by its name; each takes the limit
	Alerts     map[string]Text // that an incident has begun, by its kind
	AlertsOver map[string]Text // that it is over
}

// Add adds the texts of another part.
func (t *Texts) Add(more Texts) {
	maps.Copy(t.Faults, more.Faults)
	maps.Copy(t.Quotas, more.Quotas)
	maps.Copy(t.Alerts, more.Alerts)
	maps.Copy(t.AlertsOver, more.AlertsOver)
}

// Status is how /status shows a workload: its counts by state below the heading, then lines of its own.
type Status struct {
	Heading Text
	Lines   func(language string, now status.Status) []string // nil: none
}

// Handler does what a request asks for. args are a button's; nil for commands and words.
type Handler func(ctx context.Context, r *Request, args Args) error

// Command is what a person can ask for by name. Buttons and plain words stand for a command too, so that the right to
// use something is said in one place.
type Command struct {
	Name  string // without the slash
	About Text   // a line for the menu and for /help
	Open  bool   // also for people who are not approved yet
	Admin bool   // for administrators only, and audited
	Run   Handler
}

// Button is what the data of an inline button means: "<prefix>:<argument>:…", at most 64 bytes.
type Button struct {
	Prefix  string
	Command string // whose right it needs
	Run     Handler
}

// Words are plain words that stand for a command: an answer to the menu's question, or words with a meaning of their
// own, such as a link.
type Words struct {
	Command string // whose right they need
	Match   func(*Request) bool
	Run     Handler
}

// LiveMessage is how a message that follows an entity of one workload is drawn.
type LiveMessage struct {
	// Draw shows the entity to the viewer as it is now.
	Draw func(ctx context.Context, viewer account.User, id int64) (View, error)
	// Ended says whether an entity in this state changes no more.
	Ended func(state string) bool
	// EveryEdits is how many pauses between edits pass between two looks at the entity; 0 counts as 1.
	EveryEdits int
}

// FindNotice finds what a notice is about, as the viewer may see it now, and gives what draws it. After an error that
// is not retryable the viewer is not notified.
type FindNotice func(ctx context.Context, viewer account.User, n notice.Notice) (DrawNotice, error)

// DrawNotice draws events of an entity, the oldest first. The notice is taken by then, so drawing cannot fail.
type DrawNotice func(ctx context.Context, n notice.Notice, events []core.StreamedEvent) View
