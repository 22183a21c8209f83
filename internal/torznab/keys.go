package torznab

import (
	"net"
	"net/url"
	"path"
	"slices"
	"strings"
)

// keyNames are the parameters in which Prowlarr and Jackett expect the key.
var keyNames = []string{"apikey", "jackett_apikey"}

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
	u, err := url.Parse(link)
	if err != nil {
		return ""
	}

	parts := strings.Split(u.RawQuery, "&")
	for i, part := range parts {
		if name, _, _ := strings.Cut(part, "="); slices.Contains(keyNames, strings.ToLower(name)) {
			parts[i] = name + "="
		}
	}
	if u.RawQuery != "" {
		u.RawQuery = strings.Join(parts, "&")
	}

	link = u.String()
	if s.in(link) {
		return ""
	}
	return link
}

// Keys puts the keys of indexers back into links to their .torrent files.
type Keys []Indexer

// Complete completes a link that Search has returned, when it leads to the .torrent file of an indexer. origin is that
// of the indexer, as in Origin; empty: the link is another one, and stays as it is.
//
// People give links too. A link gets the key only where the indexer serves .torrent files, so that nobody asks the
// indexer for anything else in the service's name.
func (k Keys) Complete(link string) (full, origin string) {
	u, err := url.Parse(link)
	if err != nil || !servesFiles(u) {
		return link, ""
	}

	at := slices.IndexFunc(k, func(i Indexer) bool {
		own, err := url.Parse(i.URL)
		return err == nil && Origin(own) == Origin(u)
	})
	if at < 0 {
		return link, ""
	}

	parts := strings.Split(u.RawQuery, "&")
	for i, part := range parts {
		if name, value, _ := strings.Cut(part, "="); slices.Contains(keyNames, strings.ToLower(name)) && value == "" {
			parts[i] = name + "=" + url.QueryEscape(k[at].Key)
		}
	}
	u.RawQuery = strings.Join(parts, "&")
	return u.String(), Origin(u)
}

// servesFiles says whether a link has the form of Prowlarr's .torrent files, /<indexer>/download, or of Jackett's,
// /dl/<indexer>/.
func servesFiles(u *url.URL) bool {
	if u.User != nil || u.RawPath != "" || path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") {
		return false
	}
	return path.Base(u.Path) == "download" || strings.Contains(u.Path, "/dl/")
}

// Origin is scheme, host and port of an address, in one form.
func Origin(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return strings.ToLower(u.Scheme + "://" + net.JoinHostPort(u.Hostname(), port))
}
