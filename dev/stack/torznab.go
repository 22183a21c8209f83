package stack

import (
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/sim/torznabsim"
)

// torznabKey is the key of dev's simulated Prowlarr.
const torznabKey = "only-for-the-stand-in"

// StartTorznab starts the simulated Prowlarr.
func (g *Ground) StartTorznab(o torznabsim.Options) (err error) {
	if g.StandIns.Torznab, err = g.startStandIn(kindTorznab, o); err != nil {
		return err
	}
	g.configure(map[string]string{
		"STAGECOACH_TORZNAB_URL": g.StandIns.Torznab + "/1/api",
		"STAGECOACH_TORZNAB_KEY": o.Key,
	})
	return nil
}

// Releases are what dev's simulated Prowlarr finds: a release of each torrent of the web seed, and one with more
// seeders that nobody actually shares. A torrent without a URL has releases that lead to a magnet link.
func Releases(demo, spare, spareAudio *torrentsim.SeededTorrent) []torznabsim.Release {
	const nobodyShares = "magnet:?xt=urn:btih:c12fe1c06bba254a9dc9f519b335aa7c1367a88a&dn=On+Wheels"
	file := func(title string, of *torrentsim.SeededTorrent, audio bool) torznabsim.Release {
		release := torznabsim.Release{
			Title: title, Indexer: "The web seed", Audio: audio, Size: of.Size, Seeders: 12, Peers: 14, Days: 40,
			Infohash: of.InfohashV1, Torrent: of.URL,
		}
		if of.URL == "" {
			release.Magnet, release.Leads = of.Magnet(), true
		}
		return release
	}
	return []torznabsim.Release{
		{
			Title: "A. Cartwright - On Wheels (2026, epub, retail)", Indexer: "Nobody", Size: 18 << 20, Seeders: 90, Peers: 91,
			Days: 3, Magnet: nobodyShares,
		},
		file("A. Cartwright - On Wheels (epub & pdf)", spare, false),
		file("A. Cartwright - On Wheels (audiobook, read by the author)", spareAudio, true),
		file("Stagecoach - Noise, a demonstration (epub)", demo, false),
	}
}
