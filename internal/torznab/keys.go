package torznab

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// keyParameter is the query parameter in which Prowlarr or Jackett expects the key, with its value.
var keyParameter = regexp.MustCompile(`(?i)((?:^|&)(?:jackett_)?apikey=)[^&#]*`)

// secrets are the keys in each form in which an answer may contain them.
type secrets []string

// in reports whether a text contains a key.
func (s secrets) in(text string) bool {
	lower := strings.ToLower(text)
	return slices.ContainsFunc(s, func(secret string) bool { return strings.Contains(lower, strings.ToLower(secret)) })
}

// withoutKey empties the parameters that contain a key; "" if the link still has one elsewhere.
func (s secrets) withoutKey(link string) string {
	if address, query, asked := strings.Cut(link, "?"); asked {
		link = address + "?" + keyParameter.ReplaceAllString(query, "$1")
	}
	if s.in(link) {
		return ""
	}
	return link
}

// sealParameter is the last parameter of a link that a search returned and that leads to a file of its indexer.
const sealParameter = "stagecoach="

// seal adds a proof that this link, without its key, was in an answer of the indexer. People see links and submit some:
// without a seal a link to the indexer's host is a stranger's.
func (i Indexer) seal(link string) string {
	u, err := url.Parse(link)
	if err != nil || i.Key == "" || u.RawQuery == "" || u.Fragment != "" || !i.serves(u) {
		return link
	}
	return link + "&" + sealParameter + i.mac(link)
}

// mac authenticates a link by the indexer's key, which API and workers share.
func (i Indexer) mac(link string) string {
	mac := hmac.New(sha256.New, []byte(i.Key))
	mac.Write([]byte("stagecoach: a link of a torznab search\x00" + link))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// Keys restores indexers' keys in links to their .torrent files.
type Keys []Indexer

// Complete completes a link returned by Search that leads to an indexer's .torrent file. own is the indexer's host and
// port; empty: it is another link, and stays unchanged.
func (k Keys) Complete(link string) (full, own string) {
	at := strings.LastIndex(link, "&"+sealParameter)
	if at < 0 {
		return link, ""
	}

	plain, seal := link[:at], link[at+len("&"+sealParameter):]
	u, err := url.Parse(plain)
	if err != nil {
		return link, ""
	}
	for _, i := range k {
		if i.Key != "" && i.serves(u) && hmac.Equal([]byte(i.mac(plain)), []byte(seal)) {
			u.RawQuery = keyParameter.ReplaceAllString(u.RawQuery, "${1}"+url.QueryEscape(i.Key))
			return u.String(), hostAndPort(u)
		}
	}
	return link, ""
}

// jackettAPI follows the base path in a Jackett address.
const jackettAPI = "/api/v2.0/indexers/"

// serves reports whether a link leads to a .torrent file of this indexer: <base>/dl/<indexer>/ for a Jackett, and for a
// Prowlarr the download beside the indexer's api.
func (i Indexer) serves(u *url.URL) bool {
	own, err := url.Parse(i.address())
	if err != nil || own.Scheme != u.Scheme || hostAndPort(own) != hostAndPort(u) {
		return false
	}
	if u.User != nil || u.RawPath != "" || path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") {
		return false
	}

	base, _, jackett := strings.Cut(own.Path, jackettAPI)
	if !jackett {
		return u.Path == strings.TrimSuffix(own.Path, "/api")+"/download"
	}
	indexer, in := strings.CutPrefix(strings.TrimSuffix(u.Path, "/"), base+"/dl/")
	return in && indexer != "" && !strings.Contains(indexer, "/")
}

// hostAndPort returns an address's host and port in one form.
func hostAndPort(u *url.URL) string {
	standard := map[string]string{"http": "80", "https": "443"}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), cmp.Or(u.Port(), standard[u.Scheme]))
}
