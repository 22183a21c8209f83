package account

import (
	"context"

	"stagecoach/internal/store/core"
)

// Answered reads the first answer to a request into answer, and says whether there is one. A key that asked for
// something else is VALIDATION_ERROR.
//
// An answer that is kept under the ID of its request lies under keyInID, all others under the key itself.
func (s *Store) Answered(ctx context.Context, r core.Request, answer any) (bool, error) {
	return core.Answered(ctx, s.db, r, answer)
}
