package doctor_test

import (
	"testing"

	"stagecoach/dev/sim/torznabsim"
	"stagecoach/internal/fault"
	"stagecoach/internal/operations/doctor"
	"stagecoach/internal/torznab"
)

// TestIndexer distinguishes a rejected key from a wrong address and from an unavailable indexer.
func TestIndexer(t *testing.T) {
	t.Parallel()
	prowlarr, err := torznabsim.New(torznabsim.Options{Key: secretKey})
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, prowlarr)
	check := func(url, key string) doctor.Check {
		indexer := torznab.Indexer{URL: url, Key: key}
		return doctor.OfIndexer(torznab.New(torznab.Options{Indexers: []torznab.Indexer{indexer}}), indexer)
	}

	want(t, check(url+"/1/api", secretKey), doctor.StateWorks, "", "the key is accepted", "Prowlarr")
	want(t, check(url+"/1/api", "s3cr3t-but-wrong"), doctor.StateRefused, fault.SourceRefused, "", "")
	want(t, check(url+"/nothing/here", secretKey), doctor.StateRefused, fault.SourceRefused, "", "")
	want(t, check("http://127.0.0.1:1", secretKey), doctor.StateUnreachable, fault.SourceUnavailable, "", "")
}
