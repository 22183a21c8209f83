package run

// What one process serves concurrently. The limits protect its memory and the database; more API processes serve more.
const (
	streamsPerPerson = 30      // a person's tabs, devices and agents; stops a client that never closes its streams
	streamsInAll     = 2000    // each holds a connection and a buffer; administrators may open twenty more
	eventsToCatchUp  = 100_000 // a stream that reads more at its start costs more than starting over
)

// What unauthenticated clients may do, per network address or in total.
const (
	wrongTokens      = 10  // requests a second: a network with one bad client still gets in, guessing takes forever
	openRequests     = 20  // receipts and documents a second: a page with a dozen of them loads at once
	strangersPerHour = 100 // new Telegram accounts: keeps the table small when a botnet finds the bot
)
