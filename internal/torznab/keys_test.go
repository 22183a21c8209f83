package torznab_test

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"stagecoach/internal/torznab"
)

// linking is an indexer at a path of a host, and the link that its search returns for a given one.
func linking(t *testing.T, at, link string) (indexer torznab.Indexer, found, host string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		its := strings.ReplaceAll(link, "HOST", "http://"+r.Host)
		_, _ = fmt.Fprint(w, rss("<item><title>a</title><link>"+html.EscapeString(strings.ReplaceAll(its, "KEY", url.QueryEscape(key)))+"</link></item>"))
	}))
	t.Cleanup(server.Close)
	indexer = torznab.Indexer{URL: server.URL + at, Key: key}
	releases := search(t, time.Minute, "a", "text", indexer).Releases
	if len(releases) != 1 {
		t.Fatalf("%+v", releases)
	}
	return indexer, releases[0].SourceURL, strings.TrimPrefix(server.URL, "http://")
}

const (
	atProwlarr = "/prowlarr/1/api"
	atJackett  = "/jackett/api/v2.0/indexers/all/results/torznab/api"
)

// TestComplete restores a key in links returned by a search, if the indexer itself serves files there. Only these may
// lead into a private network.
func TestComplete(t *testing.T) {
	t.Parallel()
	for link, at := range map[string]string{
		"HOST/prowlarr/1/download?apikey=KEY&link=x&file=a+b":  atProwlarr,
		"HOST/prowlarr/1/download?link=x":                      atProwlarr,
		"HOST/1/download?link=x&apikey=KEY":                    "/1",
		"HOST/download?apikey=KEY":                             "",
		"HOST/jackett/dl/books/?jackett_apikey=KEY&path=p":     atJackett,
		"HOST/dl/books?jackett_apikey=KEY":                     "/api/v2.0/indexers/books/results/torznab/",
		"HOST/prowlarr/1/download?link=//evil/?apikey=&stagec": atProwlarr, // not a separate parameter
	} {
		indexer, found, host := linking(t, at, link)
		full, own := torznab.Keys{{URL: "http://other:1/1/api", Key: "other-key"}, indexer}.Complete(found)
		if want := strings.NewReplacer("HOST", "http://"+host, "KEY", url.QueryEscape(key)).Replace(link); full != want || own != host {
			t.Errorf("%s became %s of %q, want %s", found, full, own, want)
		}
	}
}

// TestForeignPaths has links in an answer to paths from which an indexer serves no files: they count as a stranger's.
func TestForeignPaths(t *testing.T) {
	t.Parallel()
	for link, at := range map[string]string{
		"HOST/~mallory/download?apikey=KEY":                          atProwlarr,
		"HOST/prowlarr/2/download?apikey=KEY":                        atProwlarr,
		"HOST/prowlarr/1/download/?apikey=KEY":                       atProwlarr,
		"HOST/prowlarr/1/x/download?apikey=KEY":                      atProwlarr,
		"HOST/prowlarr/1/../../~mallory/download?apikey=KEY":         atProwlarr,
		"HOST/prowlarr/1/%64ownload?apikey=KEY&escaped=%2f":          atProwlarr,
		"HOST/prowlarr/1%2fdownload?apikey=KEY":                      atProwlarr,
		"HOST/prowlarr/dl/x/?apikey=KEY":                             atProwlarr,
		"HOST/dl/x/?jackett_apikey=KEY":                              atJackett,
		"HOST/jackett/dl/x/y?jackett_apikey=KEY":                     atJackett,
		"HOST/jackett/dl/?jackett_apikey=KEY":                        atJackett,
		"HOST/jackett/dl/..%2f..%2fx/?jackett_apikey=KEY":            atJackett,
		"HOST/jackett/api/v2.0/indexers/all/download?apikey=KEY":     atJackett,
		"http://prowlarr.example/prowlarr/1/download?apikey=KEY":     atProwlarr,
		"https://127.0.0.1/prowlarr/1/download?apikey=KEY":           atProwlarr,
		"HOST/prowlarr/1/download?apikey=KEY#x":                      atProwlarr,
		"HOST/prowlarr/api/v1/config/host?apikey=KEY":                atProwlarr,
		"http://someone@127.0.0.1:1/prowlarr/1/download?apikey=KEY":  atProwlarr,
		"http://evil.example/prowlarr/1/download?apikey=KEY&h=HOST/": atProwlarr,
	} {
		indexer, found, _ := linking(t, at, link)
		if full, own := (torznab.Keys{indexer}).Complete(found); full != found || own != "" || strings.Contains(found, "stagecoach=") {
			t.Errorf("%s: %s became %s of %q", link, found, full, own)
		}
	}
}

// TestALinkOfAStranger gets no key and no access to a private network: neither one that no search returned, nor one
// changed since.
func TestALinkOfAStranger(t *testing.T) {
	t.Parallel()
	indexer, found, host := linking(t, atProwlarr, "HOST/prowlarr/1/download?apikey=KEY&link=x")
	plain, seal, _ := strings.Cut(found, "&stagecoach=")
	other, otherFound, _ := linking(t, atProwlarr, "HOST/prowlarr/1/download?apikey=KEY&link=x")
	_, otherSeal, _ := strings.Cut(otherFound, "&stagecoach=")
	keyless := indexer
	keyless.Key = ""

	for _, link := range []string{
		plain, plain + "&stagecoach=", plain + "&stagecoach=" + seal[1:], plain + "&stagecoach=" + seal + "A", plain + "&stagecoach=" + seal + "&a=b",
		plain + "&a=b&stagecoach=" + seal, strings.Replace(found, "link=x", "link=y", 1), strings.Replace(found, "apikey", "APIKEY", 1),
		strings.Replace(found, "/download", "/%64ownload", 1), strings.Replace(found, "/1/", "/2/", 1), plain + "&stagecoach=" + otherSeal,
		"http://" + host + "/~mallory/download?apikey=&stagecoach=" + seal, "http://[&stagecoach=" + seal, "http://" + host + "/prowlarr/1/download?apikey=", magnet,
	} {
		if full, own := (torznab.Keys{other, keyless, indexer}).Complete(link); full != link || own != "" {
			t.Errorf("%s became %s of %q", link, full, own)
		}
	}

	changed := indexer
	changed.Key = "another-key-of-the-same-indexer"
	if full, own := (torznab.Keys{changed}).Complete(found); full != found || own != "" {
		t.Errorf("with another key: %s, %q", full, own)
	}
}
