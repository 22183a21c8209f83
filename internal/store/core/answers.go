package core

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
)

// Request identifies a user's request by the key that they chose; without a key each request is new.
type Request struct {
	UserID int64
	Key    string
	Asked  string // the request's content, which must be the same for the same key

	TokenID *int64 // the request's token, with which what it makes ends; nil: none, or nothing ends
}

// longestID is the longest id in Temporal, in bytes, unless an operator allows more (limit.maxIDLength).
const longestID = 255

// hashedKey is the prefix of keys that stand for longer ones. Callers cannot send such a key: theirs contain no space.
const hashedKey = "sha256 "

// ID identifies the request in Temporal and in the record. It includes the user: two users may choose the same key.
// Without a key it is random: no caller can repeat such a request, but Temporal can, at any time, because it retries an
// activity whose result was lost and a reset reapplies updates. The decision is therefore kept as long as the entity.
func (r Request) ID() string {
	if r.Key == "" {
		return rand.Text()
	}
	return fmt.Sprintf("%d/%s", r.UserID, r.keyInID())
}

// keyInID returns the key, or its hash if an ID with the key would be too long.
func (r Request) keyInID() string {
	if len(strconv.FormatInt(r.UserID, 10))+len("/")+len(r.Key) <= longestID {
		return r.Key
	}
	sum := sha256.Sum256([]byte(r.Key))
	return hashedKey + hex.EncodeToString(sum[:])
}

// KeyIn parses an ID into the user and the key as returned by keyInID; keyed is false for other ids.
func KeyIn(id string) (userID int64, key string, keyed bool) {
	user, key, keyed := strings.Cut(id, "/")
	userID, err := strconv.ParseInt(user, 10, 64)
	return userID, key, keyed && err == nil && key != ""
}

// updateKey is the prefix of the keys of updates whose id has no key. Callers cannot send such a key: it contains a
// space.
const updateKey = "update "

// RequestIn returns the user's request behind a Temporal id: with the key contained in the id, else with the id itself.
// An operator may choose any update id.
func RequestIn(id string, userID int64, asked string) Request {
	by, key, keyed := KeyIn(id)
	if !keyed || by != userID {
		key = updateKey + id
	}
	return Request{UserID: userID, Key: key, Asked: asked}
}

// Answers are the first answers to requests. They are safe for concurrent use.
type Answers struct {
	db *DB
}

func NewAnswers(db *DB) *Answers { return &Answers{db: db} }

// errAnswered rolls back a transaction whose request was meanwhile answered by another one.
var errAnswered = errors.New("answered before")

// Answered reads the first answer to a request into answer, and reports whether there is one. VALIDATION_ERROR: the key
// was used for another request.
//
// An answer kept under its request's ID is stored under keyInID, all others under the key itself.
func (a *Answers) Answered(ctx context.Context, r Request, answer any) (bool, error) {
	batch, found := &pgx.Batch{}, false
	if QueueAnswered(batch, r, answer, &found); batch.Len() == 0 {
		return false, nil
	}
	err := a.db.SendBatch(ctx, batch).Close()
	return found, Unavailable(err)
}

// QueueAnswered queues the query of Answered; nothing for a request without a key.
func QueueAnswered(batch *pgx.Batch, r Request, answer any, found *bool) {
	if r.Key == "" {
		return
	}

	const statement = `SELECT request, answer FROM answers WHERE user_id = $1 AND key IN ($2, $3) LIMIT 1`
	batch.Queue(statement, r.UserID, r.Key, r.keyInID()).QueryRow(func(row pgx.Row) error {
		var asked string
		var text []byte
		err := row.Scan(&asked, &text)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case err != nil:
			return err
		case asked != r.Asked:
			return usedForAnother()
		}

		*found = true
		return json.Unmarshal(text, answer)
	})
}

func usedForAnother() error {
	return fault.Invalid("Idempotency-Key", "this key was used for another request")
}

// AnswerOnce creates something and stores it as the answer to the request, in one transaction. A repetition creates
// nothing and returns the first answer.
func AnswerOnce[T any](ctx context.Context, db *DB, r Request, makes func(pgx.Tx) (T, error)) (answer T, err error) {
	answers := NewAnswers(db)
	if found, err := answers.Answered(ctx, r, &answer); found || err != nil {
		return answer, err
	}

	err = db.InTx(ctx, func(tx pgx.Tx) (err error) {
		if answer, err = makes(tx); err != nil || r.Key == "" {
			return err
		}
		return insertAnswer(ctx, tx, r, answer)
	})

	switch {
	case errors.Is(err, errAnswered): // by the same request, concurrently
		var first T
		_, err = answers.Answered(ctx, r, &first)
		return first, err
	case fault.CodeOf(err) == fault.QuotaExceeded: // perhaps the same request has used up the quota
		var first T
		if found, again := answers.Answered(ctx, r, &first); found || again != nil {
			return first, again
		}
	}

	return answer, err
}

func insertAnswer(ctx context.Context, tx pgx.Tx, r Request, answer any) error {
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	tag, err := tx.Exec(ctx, `INSERT INTO answers (user_id, key, request, answer) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
		r.UserID, r.Key, r.Asked, text)
	if err == nil && tag.RowsAffected() == 0 {
		return errAnswered
	}
	return err
}

// KeepAnswer stores the answer to a request that Temporal knows by its ID, unless there is one, and returns the stored
// answer.
func KeepAnswer[A any](ctx context.Context, answers *Answers, r Request, answer A) (kept A, err error) {
	if r.Key == "" {
		return answer, nil
	}

	text, err := json.Marshal(answer)
	if err != nil {
		return kept, err
	}

	var asked string
	err = answers.db.QueryRow(ctx, `INSERT INTO answers (user_id, key, request, answer) VALUES ($1, $2, $3, $4)
		ON CONFLICT (user_id, key) DO UPDATE SET key = excluded.key RETURNING request, answer`,
		r.UserID, r.keyInID(), r.Asked, text).Scan(&asked, &text)
	if err != nil {
		return kept, Unavailable(err)
	}
	if asked != r.Asked { // two concurrent requests share the key: each has its own answer
		return answer, nil
	}

	return kept, json.Unmarshal(text, &kept)
}

// QueueAnswer stores the answer to a request fulfilled in the same transaction. It replaces a concurrent refusal of the
// same request: what is done is not refused.
func QueueAnswer(batch *pgx.Batch, r Request, answer any) error {
	text, err := json.Marshal(answer)
	batch.Queue(`INSERT INTO answers (user_id, key, request, answer) VALUES ($1, $2, $3, $4)
		ON CONFLICT (user_id, key) DO UPDATE SET answer = excluded.answer WHERE answers.request = excluded.request`,
		r.UserID, r.keyInID(), r.Asked, text)
	return err
}

// contentKey is the prefix of the keys of contents. Callers cannot send such a key: theirs contain no space.
const contentKey = "content of "

// KeepContent stores a request's content beyond ids under the request's ID. Whoever executes the request reads it from
// here, so that it does not travel through Temporal. It is deleted with the answers.
func (a *Answers) KeepContent(ctx context.Context, userID int64, id string, content any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return a.db.Do(ctx, `INSERT INTO answers (user_id, key, request, answer) VALUES ($1, $2, '', $3) ON CONFLICT DO NOTHING`,
		userID, contentKey+id, text)
}

// KeptContent reads what KeepContent stored into content, which is unchanged if there is nothing.
func (a *Answers) KeptContent(ctx context.Context, userID int64, id string, content any) error {
	batch := &pgx.Batch{}
	QueueKeptContent(batch, userID, id, content)
	return Unavailable(a.db.SendBatch(ctx, batch).Close())
}

// QueueKeptContent queues the query of KeptContent.
func QueueKeptContent(batch *pgx.Batch, userID int64, id string, content any) {
	batch.Queue(`SELECT answer FROM answers WHERE user_id = $1 AND key = $2`, userID, contentKey+id).QueryRow(func(row pgx.Row) error {
		var text []byte
		if err := row.Scan(&text); err != nil {
			if errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			return err
		}
		return json.Unmarshal(text, content)
	})
}

// Outcome returns an answer's content: an entity or a refusal.
func Outcome[E any](entity *E, refusal *fault.Error) (none E, err error) {
	if refusal != nil {
		return none, refusal
	}
	return *entity, nil
}
