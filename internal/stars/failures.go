package stars

import (
	"regexp"
	"strings"

	"stagecoach/internal/lifecycle"
)

// Failure is one way in which a purchase fails. Its message is public: operators, statistics and the API match on it.
type Failure struct {
	Message string
	Class   lifecycle.ErrorClass
	// Final failures are not retried by the system, whatever their class: another attempt would fail in the same way.
	Final bool
	// Away failures mean that Fragment currently serves no requests.
	Away bool
	// ByOperator failures were caused by an operator: none is notified of them.
	ByOperator bool
}

func (f *Failure) Error() string { return f.Message }

// AboutOrder reports whether the failure concerns the transfer or the receiver of the Stars. Its payer may know it.
func (f *Failure) AboutOrder() bool { return f.Class == lifecycle.NonRetryable || f == CannotGift }

// Failures is the table of all failures.
var Failures []*Failure

func add(f Failure) *Failure {
	Failures = append(Failures, &f)
	return &f
}

// byPayer adds a failure caused by the order itself.
func byPayer(message string) *Failure {
	return add(Failure{Message: message, Class: lifecycle.NonRetryable, Final: true})
}

// passing adds a failure whose cause may pass.
func passing(message string) *Failure {
	return add(Failure{Message: message, Class: lifecycle.Retryable})
}

// away adds a failure that passes once Fragment is available again.
func away(message string) *Failure {
	f := passing(message)
	f.Away = true
	return f
}

// byOperator adds a failure that is an operator's decision.
func byOperator(message string) *Failure {
	f := unknown(message, true)
	f.ByOperator = true
	return f
}

// unknown adds a failure that is retried unless it is final, and then left to an operator.
func unknown(message string, final bool) *Failure {
	return add(Failure{Message: message, Class: lifecycle.UnknownError, Final: final})
}

// All failures, in the order of the table.
var (
	InvalidUsername       = byPayer("Invalid username")
	InvalidUsernameFormat = byPayer("Invalid username format")
	UsernameNotFound      = byPayer("Username not found")
	TooFewStars           = byPayer("Stars amount should be at least 50")
	TooManyStars          = byPayer("Stars amount exceeds maximum limit")
	InvalidComment        = byPayer("Invalid comment format")
	InsufficientAmount    = byPayer("Insufficient amount")

	Network        = away("Failed to fetch: Network error")
	Unavailable    = away("Service unavailable: Fragment API returned 503")
	WalletRefused  = passing("Wallet service error: Could not send transaction")
	SessionExpired = passing("Authorization failed: Session expired")
	NotVerified    = passing("Authorization failed: Fragment asks for verification")
	NoWallet       = passing("Authorization failed: No TON account is connected")
	CannotGift     = passing("Fragment API error: the account cannot be gifted Stars at this moment")
	PriceMoved     = passing("Fragment API error: the price has moved")
	LinkExpired    = passing("Fragment API error: the payment link has expired")

	Nonsense     = unknown("Fragment API error: the answer makes no sense", false)
	Refused      = unknown("Fragment API error: an unknown reason", false)
	Suspicious   = unknown("Fragment API error: the payment link failed a check", true)
	AboveLimit   = unknown("Purchase exceeds the limit of one payment", true)
	Unconfirmed  = byOperator("Fragment API error: the purchase was not confirmed")
	Unexplained  = unknown("Unknown error", false)
	Cancelled    = byOperator("Cancelled by operator")
	Terminated   = byOperator("terminated_by_operator")
	WorkflowLost = unknown("workflow_lost", true)
)

// NonRetryable are the messages of failures caused by the order itself: another attempt would fail in the same way.
var NonRetryable = []string{
	InvalidUsername.Message, InvalidUsernameFormat.Message, UsernameNotFound.Message, TooFewStars.Message, TooManyStars.Message,
	InvalidComment.Message, InsufficientAmount.Message,
}

// Outages are the messages of failures that the shop, its session, the chain or the network may have caused.
var Outages = []string{
	Network.Message, Unavailable.Message, SessionExpired.Message, NotVerified.Message, NoWallet.Message, Nonsense.Message,
	Refused.Message, WalletRefused.Message,
}

var unavailable = regexp.MustCompile(`^Service unavailable: Fragment API returned [0-9]{3}$`)

// Named finds a failure by its message. For a message not in the table it returns Unexplained with this message.
func Named(message string) *Failure {
	for _, f := range Failures {
		if f.Message == message {
			return f
		}
	}

	f := *Unexplained
	if unavailable.MatchString(message) {
		f = *Unavailable
	}

	if message = strings.TrimSpace(message); message != "" {
		f.Message = message
	}
	return &f
}
