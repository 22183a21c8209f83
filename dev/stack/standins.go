package stack

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/oidcsim"
	"stagecoach/dev/sim/telegramsim"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/sim/torznabsim"
	"stagecoach/dev/sim/yandexsim"
)

// StandIn is a server that simulates an external system.
type StandIn interface {
	http.Handler
	io.Closer
}

const (
	kindTelegram    = "telegram"
	kindYandex      = "yandex"
	kindQBittorrent = "qbittorrent"
	kindTonCenter   = "toncenter"
	kindFragment    = "fragment"
	kindOIDC        = "oidc"
	kindWebSeed     = "web-seed"
	kindTorznab     = "torznab"
)

// NewStandIn returns the simulator for the options: telegramsim.Options, yandexsim.Options,
// torrentsim.QBittorrentOptions, tonsim.TonCenterOptions, tonsim.FragmentOptions, oidcsim.Options or
// torznabsim.Options.
func NewStandIn(options any) (StandIn, error) {
	switch o := options.(type) {
	case telegramsim.Options:
		return telegramsim.New(o)
	case yandexsim.Options:
		return yandexsim.New(o)
	case torrentsim.QBittorrentOptions:
		return torrentsim.NewQBittorrent(o)
	case tonsim.TonCenterOptions:
		return tonsim.NewTonCenter(o)
	case tonsim.FragmentOptions:
		return tonsim.NewFragment(o)
	case oidcsim.Options:
		return oidcsim.New(o)
	case torznabsim.Options:
		return torznabsim.New(o)
	}

	return nil, fmt.Errorf("no simulator has options like %T", options)
}

// DecodeStandIn returns the simulator of a kind for its options as JSON.
func DecodeStandIn(kind string, options []byte) (StandIn, error) {
	switch kind {
	case kindTelegram:
		return decodeStandIn[telegramsim.Options](options)
	case kindYandex:
		return decodeStandIn[yandexsim.Options](options)
	case kindQBittorrent:
		return decodeStandIn[torrentsim.QBittorrentOptions](options)
	case kindTonCenter:
		return decodeStandIn[tonsim.TonCenterOptions](options)
	case kindFragment:
		return decodeStandIn[tonsim.FragmentOptions](options)
	case kindOIDC:
		return decodeStandIn[oidcsim.Options](options)
	case kindTorznab:
		return decodeStandIn[torznabsim.Options](options)
	}

	return nil, fmt.Errorf("there is no simulator %q", kind)
}

func decodeStandIn[O any](text []byte) (StandIn, error) {
	var options O
	if err := json.Unmarshal(text, &options); err != nil {
		return nil, err
	}
	return NewStandIn(options)
}

// Served is a simulator that is served at an address.
type Served struct {
	StandIn
	URL  string
	halt func()
}

// Serve serves a simulator at an address; "127.0.0.1:0" is any free one of this machine.
func Serve(address string, standIn StandIn) (*Served, error) {
	url, halt, err := sim.Start(address, standIn)
	if err != nil {
		return nil, err
	}
	return &Served{standIn, url, halt}, nil
}

// Halt stops serving, as if the external system were killed. The simulator keeps its state.
func (s *Served) Halt() { s.halt() }

// Resume serves at the same address again.
func (s *Served) Resume() (err error) {
	_, s.halt, err = sim.Start(strings.TrimPrefix(s.URL, "http://"), s.StandIn)
	return err
}

// Close stops serving and closes the simulator.
func (s *Served) Close() error {
	s.halt()
	return s.StandIn.Close()
}
