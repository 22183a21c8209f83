package shape

import "stagecoach/internal/lifecycle"

// Event is one transition in the event stream.
type Event = lifecycle.Event

// History is one event of an entity.
type History = lifecycle.History
