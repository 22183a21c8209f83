package site

import "testing"

// TestChart draws series of numbers: the highest fills the height, zero has no bar, and small ones are still visible.
func TestChart(t *testing.T) {
	t.Parallel()
	drawn := Chart{Bars: []Bar{{Label: "a"}, {Label: "b", Value: 1000}, {Label: "c", Value: 1}, {Label: "d", Value: 500}}}.Drawn()
	for i, want := range []float64{0, chartHeight, 1, chartHeight / 2} {
		if bar := drawn[i]; bar.Height != want || bar.Y+bar.Height != chartHeight {
			t.Errorf("bar %s is %g high and begins at %g, want %g", bar.Label, bar.Height, bar.Y, want)
		}
	}

	for _, empty := range []Chart{{}, {Bars: []Bar{{}}}} {
		if bars := empty.Drawn(); len(bars) != len(empty.Bars) || len(bars) > 0 && bars[0].Height != 0 {
			t.Errorf("an empty chart has %v", bars)
		}
	}
}
