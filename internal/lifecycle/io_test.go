package lifecycle

import (
	"strings"
	"testing"

	"stagecoach/internal/fault"
)

// field returns the field at fault in a refusal; "": none.
func field(f *fault.Error) string {
	if f == nil {
		return ""
	}
	if f.Code != fault.Validation {
		return string(f.Code)
	}
	return f.Field
}

func TestCheckTaskInput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		action TaskAction
		in     TaskInput
		want   string
	}{
		"a claim":          {TaskActionClaim, TaskInput{Actor: 1}, ""},
		"a status":         {TaskActionStatus, TaskInput{Actor: 1, To: TaskDone}, ""},
		"no actor":         {TaskActionClaim, TaskInput{}, "actor"},
		"a negative actor": {TaskActionClaim, TaskInput{Actor: -1}, "actor"},
		"no status":        {TaskActionStatus, TaskInput{Actor: 1}, "to"},
		"no such status":   {TaskActionStatus, TaskInput{Actor: 1, To: "done"}, "to"},
		"an unused status": {TaskActionClaim, TaskInput{Actor: 1, To: "done"}, ""}, // only the action status reads it
		"a long comment":   {TaskActionClaim, TaskInput{Actor: 1, Comment: strings.Repeat("ж", MaxComment+1)}, "comment"},
	} {
		if got := field(CheckTaskInput(c.action, c.in)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestCheckComment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ comment, want string }{
		"none":              {"", ""},
		"the longest":       {strings.Repeat("ж", MaxComment), ""},
		"longer":            {strings.Repeat("a", MaxComment+1), "comment"},
		"a NUL":             {"a\x00b", "comment"},
		"not UTF-8":         {"a\xffb", "comment"},
		"several languages": {"готово ✅\n", ""},
	} {
		if got := field(CheckComment(c.comment)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestTaskAskOf passes on the status only for the action status: for others it would choose among rules.
func TestTaskAskOf(t *testing.T) {
	t.Parallel()
	in := TaskInput{Actor: 1, To: TaskDone, Comment: "because"}
	caller := TaskCaller{ID: 1, Member: true}
	if got, want := TaskAskOf(TaskActionStatus, in, caller), (TaskAsk{Action: TaskActionStatus, To: TaskDone, Comment: "because", Caller: caller}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := TaskAskOf(TaskActionClaim, in, caller), (TaskAsk{Action: TaskActionClaim, Comment: "because", Caller: caller}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestCheckTransactionInput(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("0a", 32)
	for name, c := range map[string]struct {
		action TransactionAction
		in     TransactionInput
		want   string
	}{
		"a retry":                {TransactionActionRetry, TransactionInput{Actor: 1}, ""},
		"an operator's":          {TransactionActionRetry, TransactionInput{}, ""},
		"a negative actor":       {TransactionActionRetry, TransactionInput{Actor: -1}, "actor"},
		"no outcome":             {TransactionActionResolve, TransactionInput{}, "outcome"},
		"no such outcome":        {TransactionActionResolve, TransactionInput{Outcome: TransactionPending}, "outcome"},
		"processed":              {TransactionActionResolve, TransactionInput{Outcome: TransactionProcessed, Payment: hash}, ""},
		"failed":                 {TransactionActionResolve, TransactionInput{Outcome: TransactionFailed}, ""},
		"processing":             {TransactionActionResolve, TransactionInput{Outcome: TransactionProcessing}, ""},
		"a short hash":           {TransactionActionResolve, TransactionInput{Outcome: TransactionProcessed, Payment: hash[1:]}, "payment"},
		"an upper-case hash":     {TransactionActionResolve, TransactionInput{Outcome: TransactionProcessed, Payment: strings.ToUpper(hash)}, "payment"},
		"a hash and more":        {TransactionActionResolve, TransactionInput{Outcome: TransactionProcessed, Payment: hash + "\n"}, "payment"},
		"the longest comment":    {TransactionActionWriteOff, TransactionInput{Comment: strings.Repeat("ж", MaxComment)}, ""},
		"a longer comment":       {TransactionActionWriteOff, TransactionInput{Comment: strings.Repeat("a", MaxComment+1)}, "comment"},
		"an outcome of no one's": {TransactionActionRetry, TransactionInput{Outcome: "x"}, ""}, // only resolve reads it
	} {
		if got := field(fault.As(CheckTransactionInput(c.action, c.in))); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestTitles(t *testing.T) {
	t.Parallel()
	const allTypes = "WorkflowType+IN+%28%22Delivery%22%2C+%22Task%22%2C+%22Download%22%2C+%22Transaction%22%29"
	for got, want := range map[string]string{
		DeliveryTitle(7):                        "Delivery 7",
		DownloadTitle(7, "download/1/22/audio"): "Download 7: audio of book 22",
		DownloadTitle(7, "mine"):                "Download 7",
		TaskTitle(7, "3"):                       "Task 7 of workspace 3",
		TaskTitle(7, ""):                        "Task 7",
		TransactionTitle("0123456789abcdef"):    "Transaction 01234567",
		TransactionTitle("0123"):                "Transaction 0123",
		TransactionID("0123"):                   "transaction/0123",
		TonMonitorID("0:ab"):                    "ton-monitor/0:ab",
		WorkflowsURL("http://ui/workflows", ""): "http://ui/workflows?query=" + allTypes,
		WorkflowsURL("", `WaitsFor="slot"`):     "?query=" + allTypes + "+AND+WaitsFor%3D%22slot%22",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
