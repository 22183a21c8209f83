package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Torznab says where to search for releases: addresses of Prowlarr or Jackett, and the key of each.
type Torznab struct {
	URLs []string // none: searching is off
	Keys []string
}

const (
	mostIndexers   = 20
	leastIndexKey  = 8 // characters: a shorter text would be stripped from titles
	torznabURLName = "STAGECOACH_TORZNAB_URL"
)

func (t Torznab) check() error {
	if len(t.URLs) != len(t.Keys) {
		return fmt.Errorf("%s, STAGECOACH_TORZNAB_KEY: give one key for each address", torznabURLName)
	}
	return nil
}

// torznabURLs reads the indexers' addresses. The paying process knows neither them nor their keys.
func torznabURLs(into *[]string) Setting {
	s := only(withoutWallet, words(into, torznabURLName, "Torznab addresses of Prowlarr or Jackett, separated by commas, such as http://prowlarr:9696/1/api or http://jackett:9117/api/v2.0/indexers/all/results/torznab/api; empty: no search"))
	split := s.set
	s.carries = func() []string { return *into }
	s.set = func(v string) error {
		if err := split(v); err != nil {
			return err
		}
		if len(*into) > mostIndexers {
			return fmt.Errorf("must be at most %d addresses", mostIndexers)
		}

		for _, one := range *into {
			u, err := url.Parse(one)
			if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.ContainsAny(one, "@?#") {
				return errors.New("must be http or https URLs separated by commas, addresses alone: the keys are another setting")
			}
		}
		return nil
	}
	return s
}

// torznabKeys reads the indexers' keys; none appears in an error.
func torznabKeys(into *[]string) Setting {
	s := only(withoutWallet, secret(new(string), "STAGECOACH_TORZNAB_KEY", "the API key of each address in "+torznabURLName+", separated by commas, in the same order"))
	s.set = func(v string) error {
		*into = strings.FieldsFunc(v, isSeparator)
		for i, key := range *into {
			if len(key) < leastIndexKey {
				return fmt.Errorf("key %d must have at least %d characters", i+1, leastIndexKey)
			}
		}
		return nil
	}
	return s
}
