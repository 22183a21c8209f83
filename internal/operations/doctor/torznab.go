package doctor

import (
	"cmp"
	"context"

	"stagecoach/internal/torznab"
)

// Capabilities asks an indexer what it can do.
type Capabilities interface {
	Check(ctx context.Context, i torznab.Indexer) (program string, err error)
}

// OfIndexer checks that an indexer answers and takes its key.
func OfIndexer(indexers Capabilities, i torznab.Indexer) Check {
	return Check{"torznab " + i.Name(), func(ctx context.Context) Result {
		program, err := indexers.Check(ctx, i)
		switch {
		case torznab.RefusesKey(err):
			return failed(err, "correct its key in STAGECOACH_TORZNAB_KEYS, and restart", AboutDownloads)
		case err != nil:
			return failed(err, "see whether its address in STAGECOACH_TORZNAB_URLS is that of its Torznab feed", AboutDownloads)
		}
		return Result{State: StateWorks, Account: "the key is accepted", Detail: cmp.Or(program, "Torznab")}
	}}
}
