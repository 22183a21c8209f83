package lifecycle

import (
	"stagecoach/internal/fault"
)

// DeliveryState is a state of a delivery.
type DeliveryState string

// The states of a delivery job.
const (
	DeliveryQueued      DeliveryState = "QUEUED"
	DeliveryClaimed     DeliveryState = "CLAIMED"
	DeliveryDownloading DeliveryState = "DOWNLOADING"
	DeliveryStreaming   DeliveryState = "STREAMING"
	DeliveryDelivered   DeliveryState = "DELIVERED"
	DeliveryFailed      DeliveryState = "FAILED"
	DeliveryCancelled   DeliveryState = "CANCELLED"
	DeliveryExpired     DeliveryState = "EXPIRED"
)

// DeliveryAction is an action on a delivery job.
type DeliveryAction string

// The actions of a delivery job's table.
const (
	DeliveryActionEnqueue       DeliveryAction = "enqueue"
	DeliveryActionClaim         DeliveryAction = "claim"
	DeliveryActionStartDownload DeliveryAction = "start_download"
	DeliveryActionStream        DeliveryAction = "stream"
	DeliveryActionAcknowledge   DeliveryAction = "acknowledge"
	DeliveryActionFindDelivered DeliveryAction = "find_delivered"
	DeliveryActionRequeue       DeliveryAction = "requeue"
	DeliveryActionHandOver      DeliveryAction = "hand_over"
	DeliveryActionFail          DeliveryAction = "fail"
	DeliveryActionCancel        DeliveryAction = "cancel"
	DeliveryActionExpire        DeliveryAction = "expire"
)

// DeliveryTries is the maximum number of attempts per job. The retry policy of its activity counts them.
const DeliveryTries = 3

// DeliveryFacts are what the guards check.
type DeliveryFacts struct {
	Attempt    int // failed attempts
	UserActive bool
}

// Names used by operators and other programs.
const (
	DeliveryType          = "Delivery"
	DeliveryStageSignal   = "stage"   // from the activity: its current state, if that lasts
	DeliveryAttemptSignal = "attempt" // from the activity: an attempt that did not end the job
	DeliverActivity       = "Deliver" // the activity that delivers
	DeliveryQueue         = "delivery"
	DeliveryScope         = "deliveries" // of tokens that request and cancel deliveries
)

var (
	triesLeft          = Guard[DeliveryFacts]{Name: "attempt < 3", Code: fault.TooManyAttempts, Holds: func(f DeliveryFacts) bool { return f.Attempt < DeliveryTries }}
	deliveryUserActive = Guard[DeliveryFacts]{Name: "the user is ACTIVE", Code: fault.UserNotActive, Holds: func(f DeliveryFacts) bool { return f.UserActive }}
)

// Delivery is the lifecycle of a delivery job. All transitions follow this table.
var Delivery = Table[DeliveryState, DeliveryAction, DeliveryFacts]{
	Entity: "delivery",
	States: []State[DeliveryState]{
		{State: DeliveryQueued, Means: "waits for a free worker", LeftBy: "a worker, the user, the TTL"},
		{State: DeliveryClaimed, Means: "one worker has claimed it", LeftBy: "that worker, the user"},
		{State: DeliveryDownloading, Means: "the file is being opened at the storage", LeftBy: "that worker, the user"},
		{State: DeliveryStreaming, Means: "bytes go from the storage to Telegram", LeftBy: "that worker, the user"},
		{State: DeliveryDelivered, Means: "Telegram acknowledged the file", Terminal: true},
		{State: DeliveryFailed, Means: "it ended without delivery; the reason is recorded", Terminal: true},
		{State: DeliveryCancelled, Means: "a person stopped it", Terminal: true},
		{State: DeliveryExpired, Means: "no worker was free within the TTL", Terminal: true},
	},
	Rules: []Rule[DeliveryState, DeliveryAction, DeliveryFacts]{
		{Action: DeliveryActionEnqueue, To: DeliveryQueued, Who: []Role{Owner}, Guards: []Guard[DeliveryFacts]{deliveryUserActive}, Event: "enqueued", Effect: "a repeated idempotency key returns the existing job"},
		{Action: DeliveryActionClaim, From: []DeliveryState{DeliveryQueued}, To: DeliveryClaimed, Who: systemOnly, Event: "claimed", Effect: "heartbeat_at = now"},
		{Action: DeliveryActionStartDownload, From: []DeliveryState{DeliveryClaimed}, To: DeliveryDownloading, Who: systemOnly, Guards: []Guard[DeliveryFacts]{triesLeft, deliveryUserActive}, Event: "download_started"},
		{Action: DeliveryActionStream, From: []DeliveryState{DeliveryDownloading}, To: DeliveryStreaming, Who: systemOnly, Event: "streaming_started"},
		{Action: DeliveryActionAcknowledge, From: []DeliveryState{DeliveryStreaming}, To: DeliveryDelivered, Who: systemOnly, Event: "delivered", Effect: "message id and file_id are kept"},
		{Action: DeliveryActionFindDelivered, From: deliveryLive, To: DeliveryDelivered, Who: systemOnly, Event: "delivered", Effect: "the workflow ended as delivered before the record was restored; the message id is lost"},
		{Action: DeliveryActionRequeue, From: DeliveryHeld, To: DeliveryQueued, Who: systemOnly, Event: "requeued", Effect: "attempt + 1, last_error recorded, backoff"},
		{Action: DeliveryActionHandOver, From: DeliveryHeld, To: DeliveryQueued, Who: systemOnly, Event: "requeued", Effect: "the worker stops, or an operator pauses or resets the activity: no attempt is lost"},
		{Action: DeliveryActionFail, From: deliveryLive, To: DeliveryFailed, Who: systemOnly, Event: "failed", Effect: "reason recorded"},
		{Action: DeliveryActionCancel, From: deliveryLive, To: DeliveryCancelled, Who: []Role{Owner, Admin, System}, Event: "cancelled", Effect: "the stream stops within one heartbeat"},
		{Action: DeliveryActionExpire, From: []DeliveryState{DeliveryQueued}, To: DeliveryExpired, Who: systemOnly, Event: "expired"},
	},
}

var (
	// DeliveryHeld are the states in which a worker holds the job.
	DeliveryHeld = []DeliveryState{DeliveryClaimed, DeliveryDownloading, DeliveryStreaming}
	deliveryLive = append([]DeliveryState{DeliveryQueued}, DeliveryHeld...)
)

// DeliveryWaitsFor is what a delivery waits for, or empty. lastError is why the previous attempt ended. again: the
// delivery waits for another attempt, after a failed one, or because its worker is silent.
func DeliveryWaitsFor(state DeliveryState, lastError fault.Code, again bool) string {
	switch {
	case Delivery.Terminal(state):
		return ""
	case state == DeliveryQueued && lastError == fault.PausedByOperator:
		return WaitsForOperator
	case again:
		return WaitsForNextAttempt
	case state == DeliveryQueued:
		return WaitsForSlot
	case state == DeliveryStreaming:
		return WaitsForTelegram
	default:
		return WaitsForStorage
	}
}
