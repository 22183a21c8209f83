package tonsim

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xssnick/tonutils-go/address"
	"github.com/xssnick/tonutils-go/tlb"
	"github.com/xssnick/tonutils-go/ton/wallet"
	"github.com/xssnick/tonutils-go/tvm/cell"

	"stagecoach/dev/sim"
)

const maxTransactions = 1000 // of one response

func (t *TonCenter) addRoutes(control *http.ServeMux) {
	control.HandleFunc("POST /_/deposits", t.postDeposit)
	control.HandleFunc("POST /_/hold", func(w http.ResponseWriter, _ *http.Request) { sim.AnswerControl(w, t.Hold()) })
	control.HandleFunc("DELETE /_/hold", func(w http.ResponseWriter, _ *http.Request) { sim.AnswerControl(w, t.Release()) })
	control.HandleFunc("GET /_/chain", t.getChain)
	control.HandleFunc("POST /_/chain", t.postChain)

	t.system = http.NewServeMux()
	t.system.Handle("GET /api/v3/transactions", t.call(t.getTransactions))
	t.system.Handle("GET /api/v3/transactionsByMessage", t.call(t.getTransactionsByMessage))
	t.system.Handle("GET /api/v3/walletInformation", t.call(t.getWalletInformation))
	t.system.Handle("GET /api/v3/masterchainInfo", t.call(t.getMasterchainInfo))
	t.system.Handle("POST /api/v3/message", t.call(t.postMessage))
	t.system.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		failTonCenter(w, r, sim.Problem{Status: http.StatusNotFound, Text: "Cannot " + r.Method + " " + r.URL.Path})
	})
}

// call wraps a call of the API: its latency and the format of its responses. The chain is locked and up to date.
func (t *TonCenter) call(answer func(r *http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if t.options.Latency > 0 && !sim.Sleep(r.Context(), t.options.Latency) {
			sim.Abort()
		}

		result, err := t.locked(r, answer)
		if refused := (*sim.Problem)(nil); errors.As(err, &refused) {
			failTonCenter(w, r, *refused)
		} else if err != nil {
			failTonCenter(w, r, sim.Problem{Status: http.StatusInternalServerError, Text: err.Error()})
		} else {
			sim.WriteJSON(w, http.StatusOK, result)
		}
	})
}

func (t *TonCenter) locked(r *http.Request, answer func(r *http.Request) (any, error)) (any, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.chain.catchUp(); err != nil {
		return nil, err
	}
	return answer(r)
}

// unprocessable is toncenter's refusal of a parameter.
func unprocessable(format string, args ...any) error {
	return &sim.Problem{Status: http.StatusUnprocessableEntity, Text: fmt.Sprintf(format, args...)}
}

// number reads an integer of a query; without is its default.
func number(q url.Values, name string, without uint64) (uint64, error) {
	text := q.Get(name)
	if text == "" {
		return without, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, unprocessable("failed to parse %s: not a number", name)
	}
	return n, nil
}

// parseAccount reads an address in any form.
func parseAccount(text string) (*address.Address, error) {
	if strings.Contains(text, ":") {
		return address.ParseRawAddr(text)
	}
	return address.ParseAddr(strings.NewReplacer("+", "-", "/", "_").Replace(text))
}

// finality returns the finality of a transaction by age. While it becomes final it has all three values in turn.
func (t *TonCenter) finality(age time.Duration) string {
	switch wait := t.chain.state.settings.Finality; {
	case age >= wait && !t.chain.state.settings.Unsettled:
		return "finalized"
	case age >= wait/2:
		return "confirmed"
	}
	return "pending"
}

func (t *TonCenter) getWalletInformation(r *http.Request) (any, error) {
	at, err := parseAccount(r.URL.Query().Get("address"))
	if err != nil {
		return nil, unprocessable("failed to parse address")
	}

	account, err := t.chain.account(at)
	if err != nil {
		return nil, err
	}

	state, shard := account.State(), account.ShardAccount()
	answer := map[string]any{
		"balance": "0", "status": "nonexist", "last_transaction_lt": strconv.FormatUint(shard.LastTransLT, 10),
		"last_transaction_hash": toHash(shard.LastTransHash),
	}

	if state.IsValid {
		answer["balance"], answer["status"] = state.Balance.Nano().String(), accountStatus(state.Status)
	}

	if state.Status == tlb.AccountStatusActive && walletVersion(state) == wallet.V5R1Final {
		seqno, id, err := walletNumbers(state.StateInit.Data)
		if err != nil {
			return nil, err
		}
		answer["wallet_type"], answer["seqno"], answer["wallet_id"] = "wallet v5 r1", seqno, id
	}

	return answer, nil
}

func walletVersion(active *tlb.AccountState) wallet.Version {
	return wallet.GetWalletVersion(&tlb.Account{IsActive: true, State: active, Code: active.StateInit.Code})
}

// walletNumbers reads the data of a V5R1 wallet.
func walletNumbers(data *cell.Cell) (seqno, id uint64, err error) {
	s, err := data.BeginParse()
	if err != nil {
		return 0, 0, err
	}
	if _, err = s.LoadBoolBit(); err != nil {
		return 0, 0, err
	}
	if seqno, err = s.LoadUInt(32); err != nil {
		return 0, 0, err
	}

	id, err = s.LoadUInt(32)
	return seqno, id, err
}

func (t *TonCenter) getMasterchainInfo(*http.Request) (any, error) {
	head := t.chain.head()
	return map[string]any{"last": map[string]any{
		"workchain": -1, "seqno": blockSeqno(head), "gen_utime": strconv.FormatInt(head.Unix(), 10),
	}}, nil
}

func (t *TonCenter) postMessage(r *http.Request) (any, error) {
	var body struct {
		BoC string `json:"boc"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 1<<20)).Decode(&body); err != nil {
		return nil, unprocessable("failed to parse body: %s", err)
	}

	data, err := base64.StdEncoding.DecodeString(body.BoC)
	if err != nil || len(data) == 0 {
		return nil, unprocessable("boc is not base64")
	}

	message, err := cell.FromBOC(data)
	if err != nil {
		return nil, unprocessable("boc is not a bag of cells")
	}

	var parsed tlb.Message
	if err := tlb.Parse(&parsed, message); err != nil || parsed.MsgType != tlb.MsgTypeExternalIn {
		return nil, unprocessable("boc is not an external message")
	}

	err = t.chain.broadcast(message)
	refused := (*errNotAccepted)(nil)
	switch {
	case errors.Is(err, errDuplicate):
		return nil, &sim.Problem{Status: http.StatusInternalServerError, Text: duplicateMessage}
	case errors.As(err, &refused) && refused.ran:
		return nil, &sim.Problem{
			Status: http.StatusInternalServerError,
			Text:   refusal(fmt.Sprintf("exitcode=%d, steps=%d, gas_used=0", refused.exitCode, refused.steps)),
		}
	case refused != nil:
		return nil, &sim.Problem{Status: http.StatusInternalServerError, Text: notApplied + "External message was not accepted\n" +
			"Cannot run message on account: inbound external message rejected by account before smart-contract execution"}
	case err != nil:
		return nil, err
	}

	return map[string]any{
		"message_hash": toHash(message.Hash()), "message_hash_norm": toHash(parsed.AsExternalIn().NormalizedHash()),
	}, nil
}

// readLimit reads how many transactions a query asks for at most.
func readLimit(q url.Values) (int, error) {
	limit, err := number(q, "limit", 10)
	if err != nil {
		return 0, err
	}
	if limit < 1 || limit > maxTransactions {
		return 0, unprocessable("limit is not allowed: from 1 to %d", maxTransactions)
	}
	return int(limit), nil
}

// getTransactions lists those of an account, oldest first.
func (t *TonCenter) getTransactions(r *http.Request) (any, error) {
	q := r.URL.Query()
	limit, err := readLimit(q)
	if err != nil {
		return nil, err
	}
	if q.Get("sort") != "asc" {
		return nil, unprocessable("the simulator sorts by asc only")
	}

	at, err := parseAccount(q.Get("account"))
	if err != nil {
		return nil, unprocessable("failed to parse account address")
	}
	from, err := number(q, "start_lt", 0)
	if err != nil {
		return nil, err
	}
	to, err := number(q, "end_lt", 1<<63-1)
	if err != nil {
		return nil, err
	}

	var all []*chainTransaction
	if account := t.chain.state.accounts[at.StringRaw()]; account != nil {
		all = account.history
	}
	first, _ := slices.BinarySearchFunc(
		all, from, func(t *chainTransaction, lt uint64) int { return cmp.Compare(t.view.LT, lt) },
	)
	return t.list(all[first:], limit, func(t *chainTransaction) bool { return t.view.LT <= to }), nil
}

func (t *TonCenter) getTransactionsByMessage(r *http.Request) (any, error) {
	q := r.URL.Query()
	limit, err := readLimit(q)
	if err != nil {
		return nil, err
	}

	wanted, ok := parseHash(q.Get("msg_hash"))
	if !ok {
		return nil, unprocessable("failed to parse msg_hash")
	}

	way := direction(q.Get("direction"))
	if way != in && way != out {
		return nil, unprocessable("direction is not allowed: in or out")
	}
	return t.list(t.chain.state.byMessage[wanted], limit, func(t *chainTransaction) bool {
		return t.messages[wanted] == way
	}), nil
}

// list returns the first transactions that pass.
func (t *TonCenter) list(all []*chainTransaction, limit int, pass func(*chainTransaction) bool) any {
	chosen := []transactionView{}
	now := t.chain.now()
	for _, transaction := range all {
		if transaction.hidden || !pass(transaction) {
			continue
		}

		view := transaction.view
		view.Finality = t.finality(now.Sub(transaction.at))
		chosen = append(chosen, view)
		if t.chain.state.settings.Twice {
			chosen = append(chosen, view)
		}
		if len(chosen) >= limit {
			break
		}
	}

	chosen = chosen[:min(len(chosen), limit)]
	return map[string]any{"transactions": chosen, "address_book": map[string]any{}}
}
