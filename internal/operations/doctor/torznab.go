package doctor

import (
	"cmp"
	"context"

	"stagecoach/internal/torznab"
)

// OfIndexer checks that an indexer answers and accepts its key.
func OfIndexer(client *torznab.Client, i torznab.Indexer) Check {
	return Check{"torznab " + i.Name(), func(ctx context.Context) Result {
		program, err := client.Check(ctx, i)
		switch {
		case torznab.RefusesKey(err):
			return failed(err, "correct its key in STAGECOACH_TORZNAB_KEY, and restart", AboutDownloads)
		case err != nil:
			return failed(err, "see whether its address in STAGECOACH_TORZNAB_URL is that of its Torznab feed", AboutDownloads)
		}
		return Result{State: StateWorks, Account: "the key is accepted", Detail: cmp.Or(program, "Torznab")}
	}}
}
