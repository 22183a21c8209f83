package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
)

// row is one measured figure. Ours and Baseline are medians of the samples.
type row struct {
	Name            string    `json:"name"`
	Unit            string    `json:"unit"`
	Ours            float64   `json:"ours"`
	Baseline        float64   `json:"baseline"`
	Against         string    `json:"against"` // what the baseline is; empty: there is none
	Ratio           *float64  `json:"ratio"`   // ours / baseline; null without a baseline
	Aim             string    `json:"aim"`
	OK              *bool     `json:"ok"` // null without an aim
	Samples         []float64 `json:"samples"`
	BaselineSamples []float64 `json:"baseline_samples"`
}

// measured makes a row without baseline and aim.
func measured(name, unit string, samples ...float64) row {
	return row{Name: name, Unit: unit, Ours: median(samples), Samples: samples}
}

// against adds the baseline.
func (r row) against(what string, samples ...float64) row {
	r.Against, r.Baseline, r.BaselineSamples = what, median(samples), samples
	if r.Baseline != 0 {
		ratio := r.Ours / r.Baseline
		r.Ratio = &ratio
	}
	return r
}

// atLeast sets the target of a ratio.
func (r row) atLeast(ratio float64) row {
	ok := r.Ratio != nil && *r.Ratio >= ratio
	r.Aim, r.OK = fmt.Sprintf("ratio ≥ %g", ratio), &ok
	return r
}

// atMostTimes sets the target of a ratio where less is better.
func (r row) atMostTimes(ratio float64) row {
	ok := r.Ratio != nil && *r.Ratio <= ratio
	r.Aim, r.OK = fmt.Sprintf("ratio ≤ %g", ratio), &ok
	return r
}

// atMost sets the target of the figure itself.
func (r row) atMost(limit float64) row {
	ok := r.Ours <= limit
	r.Aim, r.OK = fmt.Sprintf("≤ %g %s", limit, r.Unit), &ok
	return r
}

func writeTable(to io.Writer, rows []row) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "figure\tours\tbaseline\tratio\taim\tok\tbaseline is")
	for _, r := range rows {
		baseline, ratio, aim, ok := "–", "–", "–", "–"
		if r.Ratio != nil {
			baseline, ratio = number(r.Baseline), strconv.FormatFloat(*r.Ratio, 'f', 2, 64)
		}
		if r.OK != nil {
			aim, ok = r.Aim, map[bool]string{true: "yes", false: "MISSED"}[*r.OK]
		}
		fmt.Fprintf(
			table, "%s\t%s %s\t%s\t%s\t%s\t%s\t%s\n", r.Name, number(r.Ours), r.Unit, baseline, ratio, aim, ok, r.Against,
		)
	}

	return table.Flush()
}

func writeJSON(to io.Writer, rows []row) error {
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	return encoder.Encode(map[string]any{"figures": rows})
}

// number shows three significant digits, and integers in full.
func number(v float64) string {
	switch {
	case v >= 100 || v == float64(int64(v)):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

func median(values []float64) float64 { return quantile(values, 0.5) }

// quantile returns the value that a share q of all values does not exceed.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
