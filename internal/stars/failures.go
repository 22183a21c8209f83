package stars

import (
	"regexp"
	"strings"
)

// Class says what to do about a failure.
type Class string

// The classes of failures, as the record has them.
const (
	Retryable    Class = "retryable"     // the cause may pass
	NonRetryable Class = "non-retryable" // the cause is in the order itself
	Unknown      Class = "unknown"       // tried again, then left to an operator
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
	Class    Class
	Category Category
	// Final failures are not retried by the system, whatever their class: another attempt would fail in the same way.
	Final bool
	// Away failures mean that Fragment serves nobody now: an order waits without failing until its time is over.
	Away bool
	// ByOperator failures were caused by an operator: no operator is asked about them.
	ByOperator bool
}

// Error gives the message.
func (f *Failure) Error() string { return f.Message }

// All failures. The payer has caused the non-retryable ones.
var (
	InvalidUsername = &Failure{
		Message: "Invalid username", Class: NonRetryable, Category: UsernameError, Final: true,
	}
	InvalidUsernameFormat = &Failure{
		Message: "Invalid username format", Class: NonRetryable, Category: UsernameError, Final: true,
	}
	UsernameNotFound = &Failure{
		Message: "Username not found", Class: NonRetryable, Category: UsernameError, Final: true,
	}
	TooFewStars = &Failure{
		Message: "Stars amount should be at least 50", Class: NonRetryable, Category: StarsAmountError, Final: true,
	}
	TooManyStars = &Failure{
		Message: "Stars amount exceeds maximum limit", Class: NonRetryable, Category: StarsAmountError, Final: true,
	}
	InvalidComment = &Failure{
		Message: "Invalid comment format", Class: NonRetryable, Category: OtherError, Final: true,
	}
	InsufficientAmount = &Failure{
		Message: "Insufficient amount", Class: NonRetryable, Category: StarsAmountError, Final: true,
	}

	Network = &Failure{
		Message: "Failed to fetch: Network error", Class: Retryable, Category: NetworkError, Away: true,
	}
	Unavailable = &Failure{
		Message: "Service unavailable: Fragment API returned 503", Class: Retryable, Category: FragmentError, Away: true,
	}
	WalletRefused = &Failure{
		Message: "Wallet service error: Could not send transaction", Class: Retryable, Category: WalletError,
	}
	SessionExpired = &Failure{Message: "Authorization failed: Session expired", Class: Retryable, Category: FragmentError}
	CannotGift     = &Failure{
		Message: "Fragment API error: the account cannot be gifted Stars at this moment", Class: Retryable,
		Category: FragmentError,
	}
	NotVerified = &Failure{
		Message: "Authorization failed: Fragment asks for verification", Class: Retryable, Category: FragmentError,
	}
	PriceMoved = &Failure{
		Message: "Fragment API error: the price has moved", Class: Retryable, Category: FragmentError,
	}
	LinkExpired = &Failure{
		Message: "Fragment API error: the payment link has expired", Class: Retryable, Category: FragmentError,
	}

	Nonsense = &Failure{
		Message: "Fragment API error: the answer makes no sense", Class: Unknown, Category: FragmentError,
	}
	Refused    = &Failure{Message: "Fragment API error: an unknown reason", Class: Unknown, Category: FragmentError}
	Suspicious = &Failure{
		Message: "Fragment API error: the payment link failed a check", Class: Unknown, Category: FragmentError, Final: true,
	}
	AboveLimit = &Failure{
		Message: "Purchase exceeds the limit of one payment", Class: Unknown, Category: OtherError, Final: true,
	}
	Unconfirmed = &Failure{
		Message: "Fragment API error: the purchase was not confirmed", Class: Unknown, Category: FragmentError, Final: true,
		ByOperator: true,
	}
	Unexplained = &Failure{Message: "Unknown error", Class: Unknown, Category: OtherError}
	Cancelled   = &Failure{
		Message: "Cancelled by operator", Class: Unknown, Category: OtherError, Final: true, ByOperator: true,
	}
	Terminated = &Failure{
		Message: "terminated_by_operator", Class: Unknown, Category: OtherError, Final: true, ByOperator: true,
	}
	WorkflowLost = &Failure{Message: "workflow_lost", Class: Unknown, Category: OtherError, Final: true}
)

// Failures is the table of all failures, for documents and tests.
var Failures = []*Failure{
	InvalidUsername, InvalidUsernameFormat, UsernameNotFound, TooFewStars, TooManyStars, InvalidComment,
	InsufficientAmount,
	Network, Unavailable, WalletRefused, SessionExpired, NotVerified, CannotGift, PriceMoved, LinkExpired,
	Nonsense, Refused, Suspicious, AboveLimit, Unconfirmed, Unexplained, Cancelled, Terminated, WorkflowLost,
}

var unavailable = regexp.MustCompile(`^Service unavailable: Fragment API returned [0-9]{3}$`)

// Named finds a failure by its message. A message that is not in the table gives Unexplained with this message.
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
