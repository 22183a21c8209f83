package torznab

import (
	"cmp"
	"net"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// keyParameter is the parameter of a query in which Prowlarr or Jackett expects the key, with its value.
var keyParameter = regexp.MustCompile(`(?i)((?:^|&)(?:jackett_)?apikey=)[^&#]*`)

// secrets are the keys in each form in which an answer may hold them.
type secrets []string

func secretsOf(indexers []Indexer) (all secrets) {
	for _, i := range indexers {
		if i.Key != "" {
			all = append(all, i.Key, url.QueryEscape(i.Key), url.PathEscape(i.Key))
		}
	}
	return all
}

// in says whether a text holds a key.
func (s secrets) in(text string) bool {
	lower := strings.ToLower(text)
	return slices.ContainsFunc(s, func(secret string) bool { return strings.Contains(lower, strings.ToLower(secret)) })
}

// withoutKey empties the parameters that hold a key; "" when the link still has one elsewhere.
func (s secrets) withoutKey(link string) string {
	if address, query, asked := strings.Cut(link, "?"); asked {
		link = address + "?" + keyParameter.ReplaceAllString(query, "$1")
	}
	if s.in(link) {
		return ""
	}
	return link
}

// Keys puts the keys of indexers back into links to their .torrent files.
type Keys []Indexer

// Complete completes a link that Search has returned, when it leads to the .torrent file of an indexer. own is the host
// and port of the indexer; empty: the link is another one, and stays as it is.
//
// People give links too. A link gets the key only where the indexer serves .torrent files, so that nobody asks the
// indexer for anything else in the service's name.
func (k Keys) Complete(link string) (full, own string) {
	u, err := url.Parse(link)
	if err != nil || !servesFiles(u) {
		return link, ""
	}

	at := slices.IndexFunc(k, func(i Indexer) bool {
		own, err := url.Parse(i.URL)
		return err == nil && own.Scheme == u.Scheme && hostAndPort(own) == hostAndPort(u)
	})
	if at < 0 {
		return link, ""
	}

	u.RawQuery = keyParameter.ReplaceAllStringFunc(u.RawQuery, func(parameter string) string {
		if strings.HasSuffix(parameter, "=") {
			parameter += url.QueryEscape(k[at].Key)
		}
		return parameter
	})
	return u.String(), hostAndPort(u)
}

// servesFiles says whether a link has the form of Prowlarr's .torrent files, /<indexer>/download, or of Jackett's,
// /dl/<indexer>/.
func servesFiles(u *url.URL) bool {
	if u.User != nil || u.RawPath != "" || path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") {
		return false
	}
	return path.Base(u.Path) == "download" || strings.Contains(u.Path, "/dl/")
}

// hostAndPort of an address, in one form.
func hostAndPort(u *url.URL) string {
	standard := map[string]string{"http": "80", "https": "443"}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), cmp.Or(u.Port(), standard[u.Scheme]))
}
