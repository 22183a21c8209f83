package site

import "math"

// Chart is a series of numbers, for example one per day, which the template function chart draws as bars.
type Chart struct {
	Title string // in the reader's language
	Bars  []Bar  // from left to right
}

// Bar is one number of a chart.
type Bar struct {
	Label string  // what the number is about, such as a day
	Value float64 // not negative; its height
	Text  string  // the number as shown, with its unit
}

// The drawing's dimensions, in units of its view box.
const (
	chartWidth  = 600
	chartHeight = 120
)

// drawnBar is a bar with its position.
type drawnBar struct {
	Bar
	X, Y, Width, Height float64
}

// Drawn positions the bars: the highest one fills the height, and a number above zero is always visible.
func (c Chart) Drawn() []drawnBar {
	highest := 0.0
	for _, bar := range c.Bars {
		highest = max(highest, bar.Value)
	}

	step := chartWidth / float64(max(1, len(c.Bars)))
	gap := math.Min(4, step/4)
	drawn := make([]drawnBar, len(c.Bars))
	for i, bar := range c.Bars {
		height := 0.0
		if bar.Value > 0 {
			height = math.Max(1, bar.Value/highest*chartHeight)
		}
		drawn[i] = drawnBar{
			Bar: bar, X: rounded(float64(i)*step + gap/2), Y: rounded(chartHeight - height),
			Width: rounded(step - gap), Height: rounded(height),
		}
	}

	return drawn
}

// Highest is the bar with the greatest number, whose text labels the scale; nil if there are no bars.
func (c Chart) Highest() (highest *Bar) {
	for i, bar := range c.Bars {
		if highest == nil || bar.Value > highest.Value {
			highest = &c.Bars[i]
		}
	}
	return highest
}

// Last is the index of the last bar.
func (c Chart) Last() int { return len(c.Bars) - 1 }

func rounded(length float64) float64 { return math.Round(length*10) / 10 }
