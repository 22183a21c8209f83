package command

import (
	"strings"
	"testing"
)

// examined is the answer of the API about a worker and an API; the second has this check.
func examined(works, answered, check, unserved string) string {
	return `{"works":` + works + `,"request":"3","asked_at":"2026-03-01T12:00:00Z","processes":[` +
		`{"identity":"4711@host@worker","service":"worker","version":"0.2.0","answered":true,"checks":[{"system":"queues","state":"works","account":null,"detail":"stagecoach, delivery","code":null,"next":null,"found_at":"2026-03-01T12:00:01Z"}]},` +
		`{"identity":"4712@host@api","service":"api","version":"0.1.0","answered":` + answered + `,"checks":[` + check + `]}],"unserved_queues":[` + unserved + `]}`
}

const (
	botWorks   = `{"system":"telegram","state":"works","account":"@a_bot (7)","detail":"files up to 2000 MB","code":null,"next":null,"found_at":"2026-03-01T12:00:01Z"}`
	botRefused = `{"system":"telegram","state":"refused","account":null,"detail":"","code":"TELEGRAM_UNAUTHORIZED","next":"give another token: docs/first-day.md#the-bot","found_at":"2026-03-01T12:00:01Z"}`
	botOff     = `{"system":"telegram","state":"off","account":null,"detail":"no bot","code":null,"next":"switch it on","found_at":"2026-03-01T12:00:01Z"}`
)

func TestDoctorWaitsForAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		asked, looked string
		args          []string
		code          int
		want, not     []string
	}{
		"all is well": {
			examined("false", "false", "", ""), examined("true", "true", botWorks, ""), nil, 0,
			[]string{"4711@host@worker", "stagecoach, delivery", "@a_bot (7)", "2000 MB"},
			[]string{"next:"},
		},
		"off is no failure": {
			examined("false", "false", "", ""), examined("true", "true", botOff, ""), nil, 0,
			[]string{"off", "no bot"},
			[]string{"next:"},
		},
		"one is refused": {
			examined("false", "false", "", ""), examined("false", "true", botRefused, ""), nil, 1,
			[]string{
				"refused", "next: 4712@host@api telegram: TELEGRAM_UNAUTHORIZED give another token: docs/first-day.md#the-bot\n",
			},
			[]string{"no answer"},
		},
		"one never answers": {
			examined("false", "false", botRefused, ""), examined("false", "false", botRefused, ""),
			[]string{"--wait", "1ms"},
			1,
			[]string{"no answer", "release 0.1.0", "next: 4712@host@api: see its log"},
			[]string{"refused"},
		},
		"nobody serves a queue": {
			examined("false", "true", botWorks, `"payments"`), "", nil, 1,
			[]string{
				"missing", "next: no process serves the task queue payments: start a worker for it: docs/first-day.md#start\n",
			},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answers := func() map[string][]string {
				return map[string][]string{
					"POST /v1/doctor": {"200 " + c.asked}, "GET /v1/doctor": {"200 " + c.asked, "200 " + c.looked},
				}
			}

			code, out, errs := newFakeAPI(t, answers()).starter(t, append([]string{"doctor"}, c.args...)...)
			if code != c.code || (code == 0) != (errs == "") {
				t.Errorf("exit code %d, errors %q", code, errs)
			}

			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in the output:\n%s", want, out)
				}
			}

			for _, not := range c.not {
				if strings.Contains(out, not) {
					t.Errorf("%q is in the output:\n%s", not, out)
				}
			}

			last := c.looked
			if last == "" {
				last = c.asked
			}

			code, out, _ = newFakeAPI(t, answers()).starter(t, append([]string{"doctor", "--json"}, c.args...)...)
			if code != c.code || out != last+"\n" {
				t.Errorf("--json: exit code %d, output %s", code, out)
			}
		})
	}
}

func TestDoctorIsRefused(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`403 {"status":403,"code":"INSUFFICIENT_ACCESS","title":"Forbidden","detail":"this is for administrators"}`:      "next: ask whose it is",
		`503 {"status":503,"code":"STORE_UNAVAILABLE","title":"Service Unavailable","detail":"the record is not there"}`: "next: ",
	} {
		api := newFakeAPI(t, map[string][]string{"POST /v1/doctor": {answer}})
		if code, out, errs := api.starter(t, "doctor"); code != 1 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("exit code %d, output %q, errors %q", code, out, errs)
		}
	}

	if code, _, errs := starter(t, "doctor", "--api", "http://127.0.0.1:1", "--token", "x"); code != 3 {
		t.Errorf("exit code %d, errors %q", code, errs)
	}
}
