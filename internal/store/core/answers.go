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

// Request identifies one request of a user by the key that the user has given; without a key each request is a new one.
type Request struct {
	UserID int64
	Key    string
	Asked  string // the content of the request: the same key must not request something else

	TokenID *int64 // the token of the request, with which what it makes ends; nil: none, or nothing ends
}

// longestID is how many bytes an id may have in Temporal, unless an operator allows more (limit.maxIDLength).
const longestID = 255

// hashedKey is the prefix of keys that stand for longer ones. A caller cannot give such a key: a key contains no space.
const hashedKey = "sha256 "

// ID identifies the request for Temporal and the record, with the user in it: two users may choose the same key.
func (r Request) ID() string {
	if r.Key == "" {
		return rand.Text()
	}
	return fmt.Sprintf("%d/%s", r.UserID, r.keyInID())
}

// keyInID returns the key, or its hash when an ID with the key would be too long.
func (r Request) keyInID() string {
	if len(strconv.FormatInt(r.UserID, 10))+len("/")+len(r.Key) <= longestID {
		return r.Key
	}
	sum := sha256.Sum256([]byte(r.Key))
	return hashedKey + hex.EncodeToString(sum[:])
}

// KeyIn parses an ID: the user and the key as keyInID returns it; keyed is false for other ids.
func KeyIn(id string) (userID int64, key string, keyed bool) {
	user, key, keyed := strings.Cut(id, "/")
	userID, err := strconv.ParseInt(user, 10, 64)
	return userID, key, keyed && err == nil && key != ""
}

// updateKey is the prefix of the keys of updates whose id has no key. A caller cannot give such a key: it contains a space.
const updateKey = "update "

// RequestIn returns the request of a user that Temporal knows by an id: with the key that the id has, else with the id
// itself. An operator may choose any id for an update.
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

// NewAnswers returns the answers of a database.
func NewAnswers(db *DB) *Answers { return &Answers{db: db} }

// errAnswered rolls back a transaction whose request was answered by another one meanwhile.
var errAnswered = errors.New("answered before")

// Answered reads the first answer to a request into answer, and reports whether there is one. VALIDATION_ERROR: the key
// was used for another request.
//
// An answer that is kept under the ID of its request is stored under keyInID, all others under the key itself.
func (a *Answers) Answered(ctx context.Context, r Request, answer any) (bool, error) {
	batch, found := &pgx.Batch{}, false
	if QueueAnswered(batch, r, answer, &found); batch.Len() == 0 {
		return false, nil
	}
	err := a.db.SendBatch(ctx, batch).Close()
	return found, Unavailable(err)
}

// QueueAnswered queues what Answered asks; nothing for a request without a key.
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
			return fault.Invalid("Idempotency-Key", "this key was used for another request")
		}

		*found = true
		return json.Unmarshal(text, answer)
	})
}

// AnswerOnce creates something and keeps it as the answer to the request, in one transaction. A repetition creates
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
	case errors.Is(err, errAnswered): // by the same request at the same time
		var first T
		_, err = answers.Answered(ctx, r, &first)
		return first, err
	case fault.CodeOf(err) == fault.QuotaExceeded: // perhaps because the same request has taken the room
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

// KeepAnswer keeps the answer to a request that Temporal knows by its ID, unless there is one, and returns the kept
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
	if asked != r.Asked { // two parallel requests have the same key: each has its own answer
		return answer, nil
	}

	return kept, json.Unmarshal(text, &kept)
}

// QueueAnswer keeps the answer to a request that is fulfilled in the same transaction. It replaces a refusal that the
// same request has got elsewhere at the same moment: what is done is not refused.
func QueueAnswer(batch *pgx.Batch, r Request, answer any) error {
	text, err := json.Marshal(answer)
	batch.Queue(`INSERT INTO answers (user_id, key, request, answer) VALUES ($1, $2, $3, $4)
		ON CONFLICT (user_id, key) DO UPDATE SET answer = excluded.answer WHERE answers.request = excluded.request`,
		r.UserID, r.keyInID(), r.Asked, text)
	return err
}

// contentKey is the prefix of the keys of contents. A caller cannot give such a key: a key contains no space.
const contentKey = "content of "

// KeepContent keeps what a request of a user says beyond ids, under the request's ID: who carries the request out reads
// it from here, so that it does not travel through Temporal. It is deleted with the answers.
func (a *Answers) KeepContent(ctx context.Context, userID int64, id string, content any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return a.db.Do(ctx, `INSERT INTO answers (user_id, key, request, answer) VALUES ($1, $2, '', $3) ON CONFLICT DO NOTHING`,
		userID, contentKey+id, text)
}

// KeptContent reads what KeepContent has kept into content, which stays as it is when nothing was.
func (a *Answers) KeptContent(ctx context.Context, userID int64, id string, content any) error {
	batch := &pgx.Batch{}
	QueueKeptContent(batch, userID, id, content)
	return Unavailable(a.db.SendBatch(ctx, batch).Close())
}

// QueueKeptContent queues what KeptContent asks.
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

// Outcome returns the content of an answer: an entity or a refusal.
func Outcome[E any](entity *E, refusal *fault.Error) (none E, err error) {
	if refusal != nil {
		return none, refusal
	}
	return *entity, nil
}
