// Keeps an open page up to date, shows times in the reader's zone, and counts down to deadlines. Everything works
// without this script, but a page then shows the state at its load.
"use strict";

const policy = window.trustedTypes?.createPolicy("stagecoach", { createHTML: (text) => text });
const parse = (text) => new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html");

// Times: a date in the service's format, and a 24-hour clock.
const russian = document.documentElement.lang === "ru";
const formatOf = (options) => {
	const format = new Intl.DateTimeFormat(russian ? "ru" : "en-GB", { hour: "2-digit", minute: "2-digit", ...options });
	return (at) => format.format(at).replace(",", "").replace("Sept", "Sep");
};
const day = russian ? { day: "2-digit", month: "2-digit", year: "numeric" } : { day: "numeric", month: "short", year: "numeric" };
const exact = formatOf({ ...day, second: "2-digit", timeZoneName: "short" });
const short = formatOf(day);
const precise = formatOf({ second: "2-digit" });

function writeTimes(root) {
	for (const time of root.querySelectorAll("time[datetime]")) {
		const at = new Date(time.dateTime);
		time.title = exact(at);
		if (!time.hasAttribute("data-countdown")) time.textContent = (time.closest("table.times") ? precise : short)(at);
	}
	countDown(root);
}

// The remaining time, in its one or two largest units.
function countDown(root) {
	const [d, h, min, s] = russian ? ["д", "ч", "мин", "с"] : ["d", "h", "min", "s"];
	for (const time of root.querySelectorAll("time[data-countdown]")) {
		const seconds = Math.max(0, Math.round((new Date(time.dateTime) - Date.now()) / 1000));
		const minutes = Math.ceil(seconds / 60);
		const hours = Math.floor(minutes / 60);
		let left = `${Math.floor(hours / 24)} ${d} ${hours % 24} ${h}`;
		if (seconds < 60) left = `${seconds} ${s}`;
		else if (minutes < 60) left = `${minutes} ${min}`;
		else if (hours < 24) left = `${hours} ${h} ${minutes % 60} ${min}`.replace(` 0 ${min}`, "");
		time.textContent = russian ? `осталось ${left}` : `${left} left`;
	}
}

// Values meant for copying have a Copy button.
function addCopyButtons(root) {
	for (const code of root.querySelectorAll("code.copy")) {
		const what = code.closest("dd")?.previousElementSibling?.textContent;
		const button = document.createElement("button");
		button.type = "button";
		button.className = "copies";
		button.textContent = document.body.dataset.copy;
		if (what) button.setAttribute("aria-label", `${document.body.dataset.copy}: ${what}`);
		code.after(" ", button);
	}
}

document.addEventListener("click", (event) => {
	const button = event.target.closest?.("button.copies");
	if (!button) return;
	getSelection().selectAllChildren(button.previousElementSibling);
	if (!document.execCommand("copy")) return; // it is selected; the newer API requires HTTPS
	button.textContent = document.body.dataset.copied;
	setTimeout(() => { button.textContent = document.body.dataset.copy; }, 2000);
});

// Reloads the page. One request at a time; events that arrive meanwhile cause one more. After a form was refused the
// browser is at the URL of the form's action, so the page names its own URL.
const page = document.body.dataset.page;
const sent = location.pathname; // of the form that was refused
history.replaceState(null, "", page + location.hash); // so that going back does not offer to resubmit the form
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
		if (!answer.ok) return;
		morph(parse(await answer.text()));
		const next = document.querySelector("main [data-next]"); // what the page waited for has happened
		if (next) location.replace(next.href);
	} catch {
		// The next event, or the next connection, tries again.
	} finally {
		loading = false;
		if (again) {
			again = false;
			setTimeout(refresh, 300);
		}
	}
}

// Whether a person has started to fill in a form. A selection counts, and so does a form that was refused.
function isBegun(form) {
	return form.contains(document.activeElement) || document.querySelector(".problem") || [...form.elements].some((field) =>
		field.tagName === "SELECT" || field.type !== "hidden" && "defaultValue" in field && (field.value !== field.defaultValue || field.checked !== field.defaultChecked));
}

// The content of a page without whitespace between its parts: whitespace nodes would be matched with one another, and a
// new part would take the place of the one below it, together with what was typed there.
function parts(root) {
	const main = root.querySelector("main");
	for (const node of [...main.childNodes]) if (node.nodeType === Node.TEXT_NODE && !node.data.trim()) node.remove();
	return main;
}

// Preserves what a person does on the page: focus, input, unfolded parts, and why their form was refused.
function morph(fresh) {
	writeTimes(fresh);
	addCopyButtons(fresh);
	Idiomorph.morph(parts(document), parts(fresh), {
		ignoreActiveValue: true,
		callbacks: {
			beforeNodeMorphed: (node, now) => {
				if (new Date(node.dataset?.until) > Date.now()) return false; // it holds until then, whoever is copying it
				if (!node.matches?.("form[data-keep]") || !isBegun(node)) return !node.matches?.("[data-link]");
				const steps = now.querySelector("[data-steps]"); // what is possible now, whatever was typed
				if (steps) node.querySelector("[data-steps]")?.replaceWith(steps.cloneNode(true));
				return false;
			},
			beforeNodeRemoved: (node) => !node.matches?.(".problem, .wrong"),
			beforeAttributeUpdated: (name, node) => name !== "open" || node.tagName !== "DETAILS",
		},
	});
}

// Shows what is wrong with a field at the field, too.
function markFields() {
	let first;
	for (const [i, wrong] of [...document.querySelectorAll(".problem [data-field]")].entries()) {
		const name = wrong.dataset.field.replace(/\[.*/, "");
		const forms = [...document.querySelectorAll("main form")].filter((form) => new URL(form.action).pathname === sent);
		const field = forms.flatMap((form) => [...form.elements]).find((one) => name && one.name === name && one.type !== "hidden" && one.type !== "submit");
		if (!field) continue;
		const note = document.createElement("p");
		note.className = "wrong";
		note.id = `wrong-${i}`;
		note.textContent = wrong.textContent.replace(/^[^:]*: /, "");
		field.setAttribute("aria-invalid", "true");
		field.setAttribute("aria-describedby", `${note.id} ${field.getAttribute("aria-describedby") ?? ""}`.trim());
		(field.closest("label") ?? field).after(note);
		first ??= field;
	}
	first?.closest("details")?.setAttribute("open", "");
	first?.focus();
}

function showLink(connected) {
	const sign = document.querySelector("[data-link]");
	if (!sign) return;
	sign.dataset.on ??= sign.textContent;
	sign.className = `link-state ${connected ? "on" : "off"}`;
	sign.textContent = connected ? sign.dataset.on : sign.dataset.offline;
}

// Events. The visible tabs of a browser share one stream: the tab that holds the lock reads it and notifies the others.
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

// The page includes everything before its position in the events, so its first stream begins there. Later streams begin
// with a reload.
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
			stop(); // refused: the position is gone, or the service is unavailable
			if (!document.hidden) setTimeout(follow, 3000);
		};
	});
	const wait = () => { // another tab leads, and has announced what happened before this page listened
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
addCopyButtons(document);
markFields();
setInterval(() => countDown(document), 1000);
setInterval(() => { // progress is not an event, nor is what happens to others
	if (!document.hidden && document.querySelector(wanted.size ? "main progress, main [data-poll]" : "main [data-poll]")) refresh();
}, 3000);
if (wanted.size && !document.hidden) follow();
