package store_test

import "testing"

func TestAboutTheDatabase(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	about, err := w.Operations.About(t.Context())
	if err != nil || about.Version == "" || about.Database == "" || about.Role == "" || about.Schema == 0 {
		t.Errorf("%+v, %v", about, err)
	}
}
