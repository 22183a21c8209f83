// Keeps an open page as a fresh load would show it, writes times in the reader's zone, and counts down to deadlines.
// Without this script everything works, and a page shows the moment of its load.
"use strict";

const policy = window.trustedTypes?.createPolicy("stagecoach", { createHTML: (text) => text });
const parse = (text) => new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html");

// Times.
const exact = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "long" });
const short = new Intl.DateTimeFormat(document.documentElement.lang, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const precise = new Intl.DateTimeFormat(document.documentElement.lang, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

function writeTimes(root) {
	for (const time of root.querySelectorAll("time[datetime]")) {
		const at = new Date(time.dateTime);
		time.title = exact.format(at);
		if (!time.hasAttribute("data-countdown")) time.textContent = (time.closest("table.times") ? precise : short).format(at);
	}
	countDown(root);
}

function countDown(root) {
	for (const time of root.querySelectorAll("time[data-countdown]")) {
		const left = Math.max(0, Math.round((new Date(time.dateTime) - Date.now()) / 1000));
		const day = document.documentElement.lang === "ru" ? "д" : "d";
		const two = (n) => String(n).padStart(2, "0");
		const clock = `${two(Math.floor(left / 3600) % 24)}:${two(Math.floor(left / 60) % 60)}:${two(left % 60)}`;
		time.textContent = left >= 86400 ? `${Math.floor(left / 86400)} ${day} ${clock}` : clock;
	}
}

// The page as it is now. One request at a time; what happens meanwhile asks for one more. After a form was refused the
// browser shows the address of the form's action, so the page says its own.
const page = document.body.dataset.page;
let loading = false;
let again = false;

async function refresh() {
	if (loading) {
		again = true;
		return;
	}
	loading = true;
	try {
		const answer = await fetch(page, { headers: { Accept: "text/html" } });
		if (answer.redirected && new URL(answer.url).pathname === "/sign-in") return location.assign(page);
		if (answer.ok) morph(parse(await answer.text()));
	} catch {
		// The next event, or the next connection, asks again.
	} finally {
		loading = false;
		if (again) {
			again = false;
			setTimeout(refresh, 300);
		}
	}
}

// Whether a person has begun to fill in a form. A choice counts as begun, and so does a form that was refused.
function isBegun(form) {
	return form.contains(document.activeElement) || document.querySelector(".problem") || [...form.elements].some((field) =>
		field.tagName === "SELECT" || field.type !== "hidden" && "defaultValue" in field && (field.value !== field.defaultValue || field.checked !== field.defaultChecked));
}

// The content of a page without the blanks between its parts: they would be matched with one another, and a part that
// appears would take the place of the one below it, with what was typed there.
function parts(root) {
	const main = root.querySelector("main");
	for (const node of [...main.childNodes]) if (node.nodeType === Node.TEXT_NODE && !node.data.trim()) node.remove();
	return main;
}

// What a person does on the page stays: their focus, what they type, what they have unfolded, and why their form was refused.
function morph(fresh) {
	writeTimes(fresh);
	Idiomorph.morph(parts(document), parts(fresh), {
		ignoreActiveValue: true,
		callbacks: {
			beforeNodeMorphed: (node) => !node.matches?.("[data-link]") && !(node.matches?.("form[data-keep]") && isBegun(node)),
			beforeNodeRemoved: (node) => !node.matches?.(".problem"),
			beforeAttributeUpdated: (name, node) => name !== "open" || node.tagName !== "DETAILS",
		},
	});
}

function showLink(connected) {
	const sign = document.querySelector("[data-link]");
	if (!sign) return;
	sign.dataset.on ??= sign.textContent;
	sign.className = `link-state ${connected ? "on" : "off"}`;
	sign.textContent = connected ? sign.dataset.on : sign.dataset.offline;
}

// Events. The visible tabs of a browser share one stream: the tab that holds the lock has it, and tells the others.
const wanted = new Set((document.body.dataset.live ?? "").split(" ").filter(Boolean));
const tabs = new BroadcastChannel("events");
let release; // gives the lock back
let due = 0;

function take(message) {
	if (message.link !== undefined) showLink(message.link);
	if (!message.fresh && !wanted.has(message.workload)) return;
	due ||= setTimeout(() => { // events that never pause do not hold it up
		due = 0;
		refresh();
	}, 150);
}

tabs.onmessage = (event) => take(event.data);
const tell = (message) => { take(message); tabs.postMessage(message); };

// The page shows what happened before its place in the events, so its first stream begins there. Any other one begins
// with a fresh page.
let place = document.body.dataset.place;

function follow() {
	const waiting = new AbortController();
	let stop = () => waiting.abort();
	release = () => stop();
	const lead = () => new Promise((done) => {
		const stream = new EventSource(place ? `/live?last_event_id=${encodeURIComponent(place)}` : "/live");
		let fresh = !place;
		place = "";
		stop = () => { stream.close(); done(); };
		stream.onopen = () => { tell({ link: true, fresh }); fresh = true; };
		stream.onmessage = (event) => tell({ workload: JSON.parse(event.data).workload });
		stream.onerror = () => {
			tell({ link: false });
			if (stream.readyState !== EventSource.CLOSED) return; // the browser connects again, with the last id
			stop(); // refused: the place is gone, or the service is away
			if (!document.hidden) setTimeout(follow, 3000);
		};
	});
	const wait = () => { // another tab leads, and has told what happened before this page listened
		place = "";
		refresh();
		return navigator.locks.request("events", { signal: waiting.signal }, lead);
	};
	const waits = Symbol("another tab leads");
	navigator.locks.request("events", { ifAvailable: true }, (lock) => (lock ? lead() : waits))
		.then((how) => how === waits && wait()).catch(() => {});
}

document.addEventListener("visibilitychange", () => {
	if (!wanted.size) return;
	if (document.hidden) return release?.();
	place = "";
	follow();
});

writeTimes(document);
setInterval(() => countDown(document), 1000);
setInterval(() => { // progress is no event
	if (wanted.size && !document.hidden && document.querySelector("main progress")) refresh();
}, 3000);
if (wanted.size && !document.hidden) follow();
