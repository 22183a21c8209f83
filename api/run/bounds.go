package run

// What one process serves at once. The bounds protect its memory and the database; more APIs serve more.
const (
	streamsPerUser  = 10      // a person's tabs and devices; a client that opens streams without closing them is stopped
	streamsInAll    = 2000    // each holds a connection and a buffer; administrators may open twenty more
	eventsToCatchUp = 100_000 // a stream that reads more at its start costs more than a new beginning
)

// What those who are not known may do, by network address or in all.
const (
	wrongTokens      = 10  // requests a second: a network with one misconfigured client still gets in, guessing takes for ever
	openRequests     = 20  // receipts and documents a second: a page with a dozen of them loads at once
	strangersPerHour = 100 // new Telegram accounts: a bot that is found by a crowd of machines keeps its table small
)
