package tonsim

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"time"

	"github.com/xssnick/tonutils-go/address"
	"github.com/xssnick/tonutils-go/tlb"
	"github.com/xssnick/tonutils-go/ton/wallet"
	"github.com/xssnick/tonutils-go/tvm"
	"github.com/xssnick/tonutils-go/tvm/cell"
)

//go:embed toncenter_config.boc
var chainConfig []byte

// chainRules are the fees and limits of the main network, read once for all chains of a process.
var chainRules = sync.OnceValues(func() (*tvm.PreparedBlockchainConfig, error) {
	root, err := cell.FromBOC(chainConfig)
	if err != nil {
		return nil, err
	}
	return tvm.PrepareBlockchainConfig(root)
})

// chain is a TON blockchain without a network: real contracts run in the emulator, one message at a time. Nothing runs
// between two calls. The next call makes everything happen that is due by then, with the time at which it was due.
type chain struct {
	rules   *tvm.PreparedBlockchainConfig
	machine *tvm.TVM
	clock   func() time.Time
	state   chainState
	save    func(chainEntry) error // keeps an entry across restarts
}

// errNotAccepted is an external message that the contract did not accept.
type errNotAccepted struct {
	ran      bool  // the contract was run, and ended with exitCode
	exitCode int64 //
	steps    uint32
}

func (e *errNotAccepted) Error() string { return fmt.Sprintf("not accepted, exit code %d", e.exitCode) }

var errDuplicate = errors.New("this message is already on its way")

// now is the time on the chain in full seconds, as contracts see it.
func (c *chain) now() time.Time { return c.clock().Add(c.state.settings.Offset) }

// head is the time of the newest final block. No later transaction is older.
func (c *chain) head() time.Time {
	t := c.now()
	if blockTime := c.state.settings.BlockTime; blockTime > 0 {
		t = t.Truncate(blockTime)
	}
	return t.Add(-c.state.settings.Finality)
}

// nextBlock is when a message that arrives at t can be included.
func (c *chain) nextBlock(t time.Time) time.Time {
	blockTime := c.state.settings.BlockTime
	if blockTime == 0 {
		return t
	}
	return t.Truncate(blockTime).Add(blockTime)
}

// catchUp makes everything happen that is due, unless messages are held.
func (c *chain) catchUp() error {
	if c.state.settings.Hold {
		return nil
	}

	for now := c.now(); ; {
		next := c.state.nextDue()
		if next == nil || next.Due.After(now) {
			return nil
		}

		_, err := c.take(next.Cell.root, next.Due, chainEntry{Done: next.ID})
		if refused := (*errNotAccepted)(nil); errors.As(err, &refused) {
			err = c.commit(chainEntry{Done: next.ID}) // valid on arrival, invalid now: it is dropped
		}

		if err != nil {
			return err
		}
	}
}

// broadcast accepts an external message as a node does: it is tried on the current state and included later.
func (c *chain) broadcast(message *cell.Cell) error {
	if err := c.catchUp(); err != nil {
		return err
	}

	for _, queued := range c.state.queue {
		if bytes.Equal(queued.Cell.root.Hash(), message.Hash()) {
			return errDuplicate
		}
	}

	now := c.now()
	if _, err := c.try(message, now); err != nil {
		return err
	}

	settings := c.state.settings
	if settings.Drop > 0 {
		settings.Drop--
		return c.commit(chainEntry{Settings: &settings})
	}
	if err := c.commit(chainEntry{Queued: []queuedMessage{c.queued(message, now.Add(settings.Delay))}}); err != nil {
		return err
	}

	return c.catchUp()
}

func (c *chain) queued(message *cell.Cell, at time.Time) queuedMessage {
	return queuedMessage{Due: c.nextBlock(at), Cell: boc{message}}
}

// try runs a message on the current state of its account and changes nothing.
func (c *chain) try(message *cell.Cell, at time.Time) (*tvm.TransactionExecutionResult, error) {
	prepared, err := tvm.PrepareMessage(message)
	if err != nil {
		return nil, err
	}

	account, err := c.account(prepared.Message().Msg.DestAddr())
	if err != nil {
		return nil, err
	}

	block, err := c.rules.NewBlockContext(tvm.BlockOptions{Now: uint32(at.Unix()), RandSeed: message.Hash()})
	if err != nil {
		return nil, err
	}

	external := prepared.Message().MsgType == tlb.MsgTypeExternalIn
	result, err := c.machine.EmulateTransaction(
		block, account, prepared, tvm.TransactionOptions{LogicalTime: int64(c.state.lt)},
	)

	switch {
	case err != nil && external: // such as a balance that does not cover the import fee
		return nil, &errNotAccepted{}
	case err != nil:
		return nil, err
	case external && !result.Accepted:
		return nil, &errNotAccepted{ran: result.Steps > 0, exitCode: result.ExitCode, steps: result.Steps}
	}

	return result, nil
}

// take runs a message and keeps its effects; entry contains the other changes of the same moment.
func (c *chain) take(message *cell.Cell, at time.Time, entry chainEntry) (*chainTransaction, error) {
	result, err := c.try(message, at)
	if err != nil {
		return nil, err
	}

	entry.Transaction = &storedTransaction{
		Account: result.NextAccount.Address().StringRaw(), Cell: boc{result.TransactionCell},
		State: boc{result.NextAccount.ShardAccountCell()}, LT: result.EndLT,
	}

	for _, out := range result.OutMessages {
		if out.Msg.MsgType == tlb.MsgTypeInternal {
			entry.Queued = append(entry.Queued, c.queued(out.Cell, at))
		}
	}

	if settings := c.state.settings; settings.Hide > 0 {
		settings.Hide--
		entry.Settings, entry.Transaction.Hidden = &settings, true
	}

	if err := c.commit(entry); err != nil {
		return nil, err
	}

	history := c.state.accounts[entry.Transaction.Account].history
	return history[len(history)-1], nil
}

func (c *chain) commit(e chainEntry) error {
	for i := range e.Queued {
		e.Queued[i].ID = c.state.lastQueued + int64(i) + 1
	}
	if err := c.save(e); err != nil {
		return err
	}
	return c.state.apply(e)
}

// account returns the state of an account, which need not exist.
func (c *chain) account(at *address.Address) (*tvm.PreparedAccount, error) {
	if a := c.state.accounts[at.StringRaw()]; a != nil {
		return a.state, nil
	}
	nothing, err := tlb.AccountState{}.ToCell()
	if err != nil {
		return nil, err
	}
	return tvm.PrepareAccount(&tlb.ShardAccount{Account: nothing, LastTransHash: make([]byte, 32)}, at)
}

// setAccount sets the balance of an account in nanoTON without a transfer, and its contract unless init is nil.
func (c *chain) setAccount(at *address.Address, balance int64, init *tlb.StateInit) error {
	now, err := c.account(at)
	if err != nil {
		return err
	}

	state := *now.State()
	if !state.IsValid {
		state = tlb.AccountState{IsValid: true, Address: at, StorageInfo: tlb.StorageInfo{
			StorageUsed:  tlb.StorageUsed{CellsUsed: big.NewInt(1), BitsUsed: big.NewInt(103)},
			StorageExtra: tlb.StorageExtraNone{}, LastPaid: uint32(c.now().Unix()),
		}}
		state.Status, state.LastTransactionLT = tlb.AccountStatusUninit, c.state.lt
	}

	state.Balance = tlb.FromNanoTON(big.NewInt(balance))
	if init != nil {
		state.Status, state.StateInit = tlb.AccountStatusActive, init
	}

	root, err := state.ToCell()
	if err != nil {
		return err
	}

	shard := *now.ShardAccount()
	shard.Account = root
	whole, err := tlb.ToCell(shard)
	if err != nil {
		return err
	}

	return c.commit(chainEntry{Account: &storedAccount{Address: at.StringRaw(), State: boc{whole}}})
}

// openWallet puts a V5R1 wallet contract on the chain, unless the account exists, and returns its address.
func (c *chain) openWallet(publicKey []byte, balance int64, deployed bool) (*address.Address, error) {
	version := wallet.ConfigV5R1Final{NetworkGlobalID: wallet.MainnetGlobalID}
	at, err := wallet.AddressFromPubKey(publicKey, version, 0)
	if err != nil || c.state.accounts[at.StringRaw()] != nil {
		return at, err
	}

	init, err := wallet.GetStateInit(publicKey, version, 0)
	if err != nil {
		return nil, err
	}

	if !deployed {
		init = nil
	}
	return at, c.setAccount(at, balance, init)
}

// chainState is everything that the chain remembers. Only applied chainEntries change it.
type chainState struct {
	accounts     map[string]*chainAccount // by raw address
	transactions []*chainTransaction      // in order of lt
	byMessage    map[hash][]*chainTransaction
	queue        []queuedMessage // in order of arrival
	lastQueued   int64
	lt           uint64 // of the next transaction, at least
	settings     chainSettings
}

type chainAccount struct {
	state   *tvm.PreparedAccount
	history []*chainTransaction // in order of lt
}

// chainSettings can be changed with Steer.
type chainSettings struct {
	Offset    time.Duration `json:"offset"`     // of the chain's clock
	BlockTime time.Duration `json:"block_time"` // 0: everything happens immediately
	Finality  time.Duration `json:"finality"`   // until a transaction is final
	Delay     time.Duration `json:"delay"`      // until a broadcast is included, in addition to the block time
	Drop      int           `json:"drop"`       // number of broadcasts that are accepted and then dropped
	Hide      int           `json:"hide"`       // number of transactions that are hidden until revealed
	Twice     bool          `json:"twice"`      // lists have each transaction twice
	Unsettled bool          `json:"unsettled"`  // lists contain no final transaction, although the chain continues
	Hold      bool          `json:"hold"`       // queued messages stay out of blocks until they are released
}

// chainEntry is one line of the chain's journal: the changes of one moment.
type chainEntry struct {
	Transaction *storedTransaction `json:"transaction,omitempty"`
	Account     *storedAccount     `json:"account,omitempty"`
	Queued      []queuedMessage    `json:"queued,omitempty"`
	Done        int64              `json:"done,omitempty"` // id of the queued message that was taken or dropped
	Settings    *chainSettings     `json:"settings,omitempty"`
	Reveal      bool               `json:"reveal,omitempty"`  // shows hidden transactions
	Released    time.Time          `json:"released,omitzero"` // messages that were due before are due then
}

type storedTransaction struct {
	Account string `json:"account"`
	Cell    boc    `json:"cell"`
	State   boc    `json:"state"` // of the account, afterwards
	LT      uint64 `json:"lt"`    // of the next transaction
	Hidden  bool   `json:"hidden,omitempty"`
}

type storedAccount struct {
	Address string `json:"address"`
	State   boc    `json:"state"`
}

// queuedMessage is a message that waits for its block.
type queuedMessage struct {
	ID   int64     `json:"id"`
	Due  time.Time `json:"due"`
	Cell boc       `json:"cell"`
}

func newChainState() chainState {
	return chainState{
		accounts: map[string]*chainAccount{}, byMessage: map[hash][]*chainTransaction{},
		lt: 50_000_000_000_000, // real ones are large too
	}
}

// nextDue is the queued message that is taken next: the first one due; among several, the first that arrived.
func (s *chainState) nextDue() *queuedMessage {
	var next *queuedMessage
	for i := range s.queue {
		if next == nil || s.queue[i].Due.Before(next.Due) {
			next = &s.queue[i]
		}
	}
	return next
}

func (s *chainState) apply(e chainEntry) error {
	if e.Account != nil {
		if err := s.setState(e.Account.Address, e.Account.State.root); err != nil {
			return err
		}
	}

	if t := e.Transaction; t != nil {
		if err := s.setState(t.Account, t.State.root); err != nil {
			return err
		}
		if err := s.addTransaction(*t); err != nil {
			return err
		}
	}

	if e.Done != 0 {
		s.queue = slices.DeleteFunc(s.queue, func(q queuedMessage) bool { return q.ID == e.Done })
	}

	for _, queued := range e.Queued {
		s.queue = append(s.queue, queued)
		s.lastQueued = queued.ID
	}

	if e.Settings != nil {
		s.settings = *e.Settings
	}

	for i := range s.queue {
		if s.queue[i].Due.Before(e.Released) {
			s.queue[i].Due = e.Released
		}
	}

	if e.Reveal {
		for _, t := range s.transactions {
			t.hidden = false
		}
	}
	return nil
}

func (s *chainState) setState(raw string, state *cell.Cell) error {
	at, err := address.ParseRawAddr(raw)
	if err != nil {
		return err
	}

	var shard tlb.ShardAccount
	if err := tlb.Parse(&shard, state); err != nil {
		return err
	}

	prepared, err := tvm.PrepareAccount(&shard, at)
	if err != nil {
		return err
	}

	if s.accounts[raw] == nil {
		s.accounts[raw] = &chainAccount{}
	}

	s.accounts[raw].state = prepared
	return nil
}

func (s *chainState) addTransaction(stored storedTransaction) error {
	t, err := readTransaction(stored)
	if err != nil {
		return err
	}

	account := s.accounts[stored.Account]
	account.history = append(account.history, t)
	s.transactions = append(s.transactions, t)
	for key := range t.messages {
		s.byMessage[key] = append(s.byMessage[key], t)
	}

	s.lt = max(s.lt, stored.LT+1)
	return nil
}
