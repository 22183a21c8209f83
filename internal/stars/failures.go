package stars

import (
	"regexp"
	"strings"

	"stagecoach/internal/lifecycle"
)

// Category groups failures for the statistics.
type Category string

// The categories of the statistics.
const (
	UsernameError    Category = "Username Error"
	StarsAmountError Category = "Stars Amount Error"
	NetworkError     Category = "Network Error"
	WalletError      Category = "Wallet Error"
	FragmentError    Category = "Fragment API Error"
	OtherError       Category = "Other Error"
)

// Failure is one way in which a purchase fails. Its message is public: operators, statistics and the API match on it.
type Failure struct {
	Message  string
	Class    lifecycle.ErrorClass
	Category Category
	// Final failures are not retried by the system, whatever their class: another attempt would fail in the same way.
	Final bool
	// Away failures mean that Fragment serves no request now: an order waits without failing until its time is over.
	Away bool
	// ByOperator failures were caused by an operator: no operator is asked about them.
	ByOperator bool
}

func (f *Failure) Error() string { return f.Message }

// AboutOrder reports whether the failure is about the transfer or the receiver of the Stars. Its payer may know it.
func (f *Failure) AboutOrder() bool { return f.Class == lifecycle.NonRetryable || f == CannotGift }

// Failures is the table of all failures.
var Failures []*Failure

func add(f Failure) *Failure {
	Failures = append(Failures, &f)
	return &f
}

// byPayer adds a failure that has its cause in the order itself.
func byPayer(message string, category Category) *Failure {
	return add(Failure{Message: message, Class: lifecycle.NonRetryable, Category: category, Final: true})
}

// passing adds a failure whose cause may pass.
func passing(message string, category Category) *Failure {
	return add(Failure{Message: message, Class: lifecycle.Retryable, Category: category})
}

// away adds a failure that passes once Fragment is back.
func away(message string, category Category) *Failure {
	f := passing(message, category)
	f.Away = true
	return f
}

// byOperator adds a failure that is an operator's decision.
func byOperator(message string, category Category) *Failure {
	f := unknown(message, category, true)
	f.ByOperator = true
	return f
}

// unknown adds a failure that is tried again unless it is final, and then left to an operator.
func unknown(message string, category Category, final bool) *Failure {
	return add(Failure{Message: message, Class: lifecycle.UnknownError, Category: category, Final: final})
}

// All failures, in the order of the table.
var (
	InvalidUsername       = byPayer("Invalid username", UsernameError)
	InvalidUsernameFormat = byPayer("Invalid username format", UsernameError)
	UsernameNotFound      = byPayer("Username not found", UsernameError)
	TooFewStars           = byPayer("Stars amount should be at least 50", StarsAmountError)
	TooManyStars          = byPayer("Stars amount exceeds maximum limit", StarsAmountError)
	InvalidComment        = byPayer("Invalid comment format", OtherError)
	InsufficientAmount    = byPayer("Insufficient amount", StarsAmountError)

	Network        = away("Failed to fetch: Network error", NetworkError)
	Unavailable    = away("Service unavailable: Fragment API returned 503", FragmentError)
	WalletRefused  = passing("Wallet service error: Could not send transaction", WalletError)
	SessionExpired = passing("Authorization failed: Session expired", FragmentError)
	NotVerified    = passing("Authorization failed: Fragment asks for verification", FragmentError)
	NoWallet       = passing("Authorization failed: No TON account is connected", FragmentError)
	CannotGift     = passing("Fragment API error: the account cannot be gifted Stars at this moment", FragmentError)
	PriceMoved     = passing("Fragment API error: the price has moved", FragmentError)
	LinkExpired    = passing("Fragment API error: the payment link has expired", FragmentError)

	Nonsense     = unknown("Fragment API error: the answer makes no sense", FragmentError, false)
	Refused      = unknown("Fragment API error: an unknown reason", FragmentError, false)
	Suspicious   = unknown("Fragment API error: the payment link failed a check", FragmentError, true)
	AboveLimit   = unknown("Purchase exceeds the limit of one payment", OtherError, true)
	Unconfirmed  = byOperator("Fragment API error: the purchase was not confirmed", FragmentError)
	Unexplained  = unknown("Unknown error", OtherError, false)
	Cancelled    = byOperator("Cancelled by operator", OtherError)
	Terminated   = byOperator("terminated_by_operator", OtherError)
	WorkflowLost = unknown("workflow_lost", OtherError, true)
)

var unavailable = regexp.MustCompile(`^Service unavailable: Fragment API returned [0-9]{3}$`)

// Named finds a failure by its message. For a message that is not in the table it returns Unexplained with this
// message.
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
