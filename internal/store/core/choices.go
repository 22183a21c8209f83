package core

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
)

// Choice is the entity on which a request with a key settled before anything was done: a repeated request continues
// with it, even if the process that chose is gone. It is stored in place of an answer.
type Choice struct {
	ID  int64 `json:"id"`
	Try int   `json:"try"` // counts the request's choices
}

// Attempt returns the request that executes a choice. Each choice has its own, so that Temporal does not answer a later
// one with the refusal of an earlier one. Without a key it is a new request.
func (r Request) Attempt(c Choice) Request {
	if r.Key == "" {
		return Request{UserID: r.UserID}
	}
	return Request{UserID: r.UserID, Key: r.attempts() + fmt.Sprint(c.Try)}
}

// attempts is the prefix of the keys of a request's attempts. Callers cannot send such a key: it contains a space.
func (r Request) attempts() string { return fmt.Sprintf("next %x ", sha256.Sum256([]byte(r.Key))) }

// ChoiceOf reads the last choice of a request with a key, and the answer to it into answer. done reports that there is
// an answer. A zero Choice means none. VALIDATION_ERROR: the key was used for another request. Served by the primary
// key.
func (a *Answers) ChoiceOf(ctx context.Context, r Request, answer any) (chosen Choice, done bool, err error) {
	var asked string
	var kept, text []byte
	err = a.db.QueryRow(ctx, `SELECT c.request, c.answer, done.answer FROM answers c
		LEFT JOIN answers done ON done.user_id = c.user_id AND done.key = $4 || (c.answer->>'try')
		WHERE c.user_id = $1 AND c.key IN ($2, $3) LIMIT 1`,
		r.UserID, r.Key, r.keyInID(), r.attempts()).Scan(&asked, &kept, &text)

	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return chosen, false, nil
	case err != nil:
		return chosen, false, Unavailable(err)
	case asked != r.Asked:
		return chosen, false, fault.Invalid("Idempotency-Key", "this key was used for another request")
	}

	if err = json.Unmarshal(kept, &chosen); err != nil || text == nil {
		return chosen, false, err
	}
	return chosen, true, json.Unmarshal(text, answer)
}

// Choose replaces the choice of a request with a key; a zero Choice means none. It returns false if the request has
// meanwhile chosen otherwise, is done, or had another content. Served by the primary key.
func (a *Answers) Choose(ctx context.Context, r Request, was, now Choice) (bool, error) {
	before, err := json.Marshal(was)
	if err != nil {
		return false, err
	}

	after, err := json.Marshal(now)
	if err != nil {
		return false, err
	}

	tag, err := a.db.Exec(ctx, `INSERT INTO answers (user_id, key, request, answer) VALUES ($1, $2, $3, $4)
		ON CONFLICT (user_id, key) DO UPDATE SET answer = excluded.answer
		WHERE answers.request = excluded.request AND answers.answer = $5
			AND NOT EXISTS (SELECT 1 FROM answers done WHERE done.user_id = $1 AND done.key = $6)`,
		r.UserID, r.keyInID(), r.Asked, after, before, r.Attempt(was).Key)

	return tag.RowsAffected() == 1, Unavailable(err)
}
