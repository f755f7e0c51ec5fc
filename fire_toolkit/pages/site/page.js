"use strict";
// One page, one item, one caption or a few; one key answers. Whatever is shown goes in as text, never as HTML.
// The server keeps each answer on disk before it acknowledges it; only then does the next caption come.
const $ = id => document.getElementById(id);
const GUARD_MS = 250;     // on a new caption: a second press must not answer it
const SLOW_MS = 8000;     // then the page says that the item may be missing
const LATE_MS = 3000;     // then it says that the server does not answer,
const UNHEARD_MS = 30000; // and then it sends again what it sent
const LOST = "Not kept: that caption was answered in another window, or is not asked of you any more";
let state = null, row = 0, ready = false, busy = false, since = 0, slow = 0;
let ahead = [], awaited = new Set();
const SPEEDS = [1, 1.5, 2, .5], STEP_S = 2;

const wait = ms => new Promise(done => setTimeout(done, ms));
const note = text => { $("note").textContent = text; };
const disable = (button, isOff) => button.setAttribute("aria-disabled", String(isOff));  // keeps the focus

// A page without a server has `file.js` before this script, which answers in the server's place.
const ask = (path, content) => typeof alone === "undefined" ? serve(path, content) : alone.ask(path, content);

async function serve(path, content) {
  const options = content === undefined ? {} : {
    method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(content)};
  const silent = `${content ? "Not kept yet: the" : "The"} server does not answer. Trying again. Leave this page open.`;
  for (let pause = 500; ; pause = Math.min(2 * pause, 8000)) {
    const late = setTimeout(note, LATE_MS, silent);
    try {
      const signal = AbortSignal.timeout(UNHEARD_MS);
      const answer = await fetch(path, {...options, credentials: "same-origin", signal});
      const said = answer.status === 204 ? null : await answer.json();
      if (answer.ok) { note(""); return said; }
      if (answer.status < 500 && said.error) throw Object.assign(new Error(said.error), {status: answer.status});
    } catch (error) {
      if (error.status) throw error;  // else no network, an answer cut short, or the page of a proxy
    } finally {
      clearTimeout(late);
    }
    note(silent);
    await wait(pause);
  }
}

// What is sent carries a key of its own, so that a request that is sent twice counts once, and whose page it is.
const once = content => ({...content, key: crypto.randomUUID(), who: state.who});

// words: what was done, for a screen reader; it is said with what comes next.
async function act(path, content, words) {
  if (busy) return;
  busy = true;
  document.body.dataset.busy = "1";
  try {
    const next = await ask(path, once(content)).catch(async error => {
      if (error.status !== 404 && error.status !== 409) throw error;
      return {...await ask("state"), lost: LOST};
    });
    show(next, next.lost || words);
  } catch (error) {
    tell(error.message);
  } finally {
    busy = false;
    delete document.body.dataset.busy;
  }
}

// Shows the work or the words, with the focus in it if it was in the other; what is said is heard there.
function turnTo(id, said) {
  const other = $(id === "work" ? "words" : "work"), hasFocus = other.contains(document.activeElement);
  other.hidden = true;
  $(id).hidden = false;
  if (hasFocus) $(id).focus();
  $("said").textContent = said;
}

function tell(text, mayAgree) {
  $("text").textContent = text;
  turnTo("words", text);
  $("agree").hidden = $("rules").hidden = !mayAgree;
  if (mayAgree) fill($("rules"));
  $("send").hidden = mayAgree || !state || typeof alone === "undefined";
  $("video").removeAttribute("src");
  document.body.dataset.page = "";
}

function show(next, words) {
  const before = state && state.page;
  if (state && state.who !== next.who) {
    state = {...state, page: null, can_undo: false};
    return tell("Another link was opened in this browser. Open your own link again to go on under your name.");
  }
  state = next;
  document.title = state.title;
  if (state.consent !== null) return tell(state.consent, true);
  if (!state.page) return tell(`${state.lost ? `${state.lost}. ` : ""}All done: ${state.done} of ${state.total}. Thank you. ${state.farewell}`);
  const page = state.page, several = page.captions.length > 1;
  row = page.captions.findIndex(caption => caption.label === null);
  $("caption").hidden = several;
  $("caption").textContent = several ? "" : page.captions[0].text;
  $("caption").scrollTop = 0;
  $("rows").hidden = !several;
  $("stage").className = several ? "several" : "";
  $("rows").replaceChildren(...(several ? page.captions.map(shownRow) : []));
  const place = several ? `Caption ${row + 1} of ${page.captions.length}: ` : "";
  turnTo("work", `${words ? `${words}. ` : ""}${state.done} of ${state.total} judged. ${place}${page.captions[row].text}`);
  keepNowSeen();
  $("question").textContent = state.question;
  buttons("answers", state.labels, label => answer(label.name));
  buttons("flags", state.flags, flag => toggle(flag.name));
  for (const button of document.querySelectorAll("#flags button")) button.setAttribute("aria-pressed", "false");
  $("comment").value = "";
  const was = page.captions[row].was;
  const earlier = was === null || was === undefined ? "" : `your answer was: ${was || "does not show"}`;
  $("was").textContent = state.lost || earlier;
  disable($("undo"), !state.can_undo);
  disable($("look"), !state.last.length);
  $("last").replaceChildren(...state.last.map(shownAnswer));
  $("who").textContent = state.who;
  $("count").textContent = `${state.done} of ${state.total}`;
  for (const [name, value] of [["min", 0], ["max", state.total], ["now", state.done], ["text", $("count").textContent]])
    $("count").setAttribute(`aria-value${name}`, value);
  since = performance.now();
  if (before && before.id === page.id && before.media === page.media && ready) return mark();
  load(page);
}

// One of the last answers; pressed, it is taken back and asked again.
function shownAnswer(entry) {
  const line = document.createElement("li"), button = document.createElement("button"), label = document.createElement("b");
  button.type = "button";
  button.title = "take back and answer again";
  label.textContent = ` ${entry.label || "does not show"}`;
  button.append(entry.text, label);
  button.onclick = () => { look(false); act("undo", {task: entry.task}, "taken back"); };
  line.append(button);
  return line;
}

function look(isOn) {
  $("last").hidden = !isOn || !state.last.length;
  $("look").setAttribute("aria-expanded", String(!$("last").hidden));
}

function keepNowSeen() {
  const now = document.querySelector("#rows .now");
  if (now) now.scrollIntoView({block: "nearest"});
  for (const part of [$("caption"), $("rows"), $("passage")])
    part.tabIndex = part.scrollHeight > part.clientHeight ? 0 : -1;  // what scrolls is scrolled by keys too
}
addEventListener("resize", keepNowSeen);

function shownRow(caption, place) {
  const line = document.createElement("li"), text = document.createElement("span"), label = document.createElement("b");
  line.className = place === row ? "now" : "";
  if (place === row) line.setAttribute("aria-current", "true");
  text.dir = "auto";
  text.textContent = caption.text;
  label.textContent = caption.label === null ? "" : caption.label || "missing";
  line.append(text, label);
  return line;
}

function buttons(id, entries, press) {
  const made = JSON.stringify(entries);
  if ($(id).dataset.made === made) return;  // a button that stays keeps the focus
  $(id).dataset.made = made;
  $(id).replaceChildren(...entries.map(entry => {
    const button = document.createElement("button"), key = document.createElement("kbd");
    button.type = "button";
    button.dataset.name = entry.name;
    button.title = entry.words;
    key.textContent = entry.key;
    button.append(entry.name + " ", key);
    button.onclick = event => {
      if (event.detail) button.blur();  // of a mouse: the space bar is for the clip again
      press(entry);
    };
    return button;
  }));
}

function load(page) {
  ready = false;
  mark();
  const video = $("video"), image = $("image"), isSound = state.kind === "audio";
  const isVideo = isSound || state.kind === "video";  // a sound plays in the same element, with its controls
  video.hidden = !isVideo;
  video.controls = isSound;
  video.muted = !isSound;
  $("sound").setAttribute("aria-pressed", String(isSound));
  image.hidden = state.kind !== "image";
  clearTimeout(slow);
  slow = setTimeout(() => { if (!ready) missing(); }, SLOW_MS);
  document.body.dataset.kind = state.kind;
  const isText = state.kind === "text", isRead = isText || state.kind === "none";
  $("report").hidden = isRead;
  $("pause").hidden = $("sound").hidden = $("speed").hidden = !isVideo;
  $("passage").hidden = !isText;
  $("passage").textContent = isText ? page.media : "";
  $("passage").scrollTop = 0;
  keepNowSeen();
  if (isRead) return isShown();  // nothing is loaded: texts, or the caption alone
  const item = isVideo ? video : image;
  item.removeAttribute("src");
  if (isVideo) video.load();
  const hasReference = page.reference !== null && page.reference !== undefined;
  $("before").hidden = $("candidate").hidden = !hasReference;
  $("reference").removeAttribute("src");
  if (!page.media || page.reference === "") return missing();
  awaited = new Set(hasReference ? [item.id, "reference"] : [item.id]);
  item.src = page.media.split("#")[0];
  if (hasReference) $("reference").src = page.reference;
  preload();
}

function preload() {
  const next = state.next || {}, isVideo = state.kind === "video" || state.kind === "audio";
  ahead = [next.media, next.reference].filter(Boolean).map((url, place) => {
    const item = isVideo && place === 0 ? document.createElement("video") : new Image();
    if (isVideo && place === 0) { item.preload = "auto"; item.muted = true; }
    item.src = url.split("#")[0];
    return item;
  });
}

// What is judged is shown when all of it is: of a composed query the reference too.
function isShown(id) {
  awaited.delete(id);
  if (awaited.size) return;
  note("");
  clearTimeout(slow);
  ready = true;
  since = performance.now();
  mark();
}

function missing() {
  ready = false;
  mark();
  note(`This ${state.kind} does not show. Wait, or press 0 to report it and go on.`);
}

// The network may have failed for a moment: what broke is asked for again while the page waits for it.
function broken() {
  const page = state && state.page;
  if (!page) return;
  missing();
  clearTimeout(slow);
  slow = setTimeout(() => { if (!ready && state && state.page === page) load(page); }, SLOW_MS);
}

function mark() {
  for (const button of document.querySelectorAll("#answers button, #flags button")) disable(button, !ready);
  disable($("report"), ready);
  document.body.dataset.page = state && state.page ? state.page.captions[row].task : "";
  document.body.dataset.ready = ready ? "1" : "";
}

// `loop` repeats whole files only; a part is played again from its start.
function keepPart() {
  const part = state && state.page && state.page.part, video = $("video");
  if (!part || !ready) return;
  if (video.currentTime < part[0] - .3 || (part[1] !== null && video.currentTime >= part[1])) {
    video.currentTime = part[0];
    video.play().catch(() => {});
  }
}

$("video").onloadeddata = () => {
  if (state.kind === "video" && !$("video").videoWidth) return missing();
  isShown("video");
  keepPart();
};
$("video").ontimeupdate = keepPart;
for (const name of ["play", "pause"])
  $("video").addEventListener(name, () => $("pause").setAttribute("aria-pressed", String(name === "pause")));
$("video").onerror = () => { if ($("video").hasAttribute("src")) broken(); };
for (const image of [$("image"), $("reference")]) {
  image.onload = () => isShown(image.id);
  image.onerror = broken;
}

function flags() {
  return [...document.querySelectorAll("#flags [aria-pressed=true]")].map(button => button.dataset.name);
}

function toggle(name) {
  const button = [...document.querySelectorAll("#flags button")].find(each => each.dataset.name === name);
  if (!button || !ready) return;
  button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") === "true" ? "false" : "true");
}

function content(label) {
  return {task: state.page.captions[row].task, label, flags: flags(), comment: $("comment").value.trim(),
    seconds: (performance.now() - since) / 1000};
}

function answer(label) {
  if (ready && !isNew()) act("answer", content(label), label);
}

function isNew() { return performance.now() - since < GUARD_MS; }
function report() { if (state && state.page && !ready && !isNew()) act("answer", {...content(""), flags: []}, "reported"); }
function undo() { if (state && state.can_undo) act("undo", {}, "taken back"); }

function fill(frame) {
  if (typeof alone === "undefined") frame.src = frame.src || "instructions";
  else frame.srcdoc = frame.srcdoc || alone.instructions;
}

function help() {
  const frame = $("instructions");
  fill(frame);
  frame.hidden = !frame.hidden;
  $("help").setAttribute("aria-expanded", String(!frame.hidden));
}

// A frame that has the focus does not say so by itself.
$("rules").onload = () => {
  for (const name of ["focus", "blur"])
    $("rules").contentWindow.addEventListener(name, () => $("rules").classList.toggle("focus", name === "focus"));
};

// The focus may be in the instructions; their keys come here.
$("instructions").onload = () => $("instructions").contentWindow.onkeydown = event => {
  if (event.key !== "i" && event.key !== "Escape") return;
  help();
  $("help").focus();
};

function pause() { if ($("video").paused) $("video").play().catch(() => {}); else $("video").pause(); }

function sound() {
  $("video").muted = !$("video").muted;
  $("sound").setAttribute("aria-pressed", String(!$("video").muted));
}

function speed() {
  const video = $("video");
  video.defaultPlaybackRate = video.playbackRate = SPEEDS[(SPEEDS.indexOf(video.playbackRate) + 1) % SPEEDS.length];
  $("rate").textContent = `${video.playbackRate}×`;
}

function seek(seconds) {
  const video = $("video"), part = state.page && state.page.part || [0, null], end = part[1] || video.duration || 0;
  if (state.kind === "video" && ready)
    video.currentTime = Math.min(Math.max(part[0], video.currentTime + seconds), Math.max(part[0], end - .1));
}

function save() { if (typeof alone !== "undefined") alone.save(); }

const OWN = {" ": pause, "0": report, Backspace: undo, i: help, c: () => $("comment").focus(), s: save,
  m: sound, x: speed, l: () => look($("last").hidden), ArrowLeft: () => seek(-STEP_S), ArrowRight: () => seek(STEP_S),
  Escape: () => { if (!$("instructions").hidden) help(); else look(false); }};

// Where a layout has digits with Shift alone (French, Czech) or other letters (Russian), a key counts by its place.
function meant(event) {
  const known = [...state.labels, ...state.flags].map(each => each.key).concat(Object.keys(OWN));
  if (known.includes(event.key) || event.shiftKey || /^[a-z]$/i.test(event.key)) return event.key;
  return event.code.replace(/^(Digit|Key)/, "").toLowerCase();
}

addEventListener("keydown", event => {
  if (event.repeat && event.key === "Enter" && event.target instanceof HTMLButtonElement) event.preventDefault();
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target === $("comment")) {
    if (event.key === "Enter" || event.key === "Escape") $("comment").blur();
    return;
  }
  if (!state || state.consent !== null || busy) return;
  if (event.key === " " && event.target instanceof HTMLButtonElement) return;
  const key = meant(event);
  const label = state.page && state.labels.find(each => each.key === key);
  const flag = state.page && state.flags.find(each => each.key === key);
  const own = OWN[key];
  if (!label && !flag && !own) return;
  event.preventDefault();
  if (label) answer(label.name); else if (flag) toggle(flag.name); else own();
});

$("agree").onclick = () => act("consent", {});
$("report").onclick = report;
$("undo").onclick = undo;
$("pause").onclick = pause;
$("sound").onclick = sound;
$("speed").onclick = speed;
$("look").onclick = () => look($("last").hidden);
$("help").onclick = help;
$("save").onclick = $("send").onclick = save;
$("save").hidden = typeof alone === "undefined";

async function start() {
  const token = new URLSearchParams(location.hash.slice(1)).get("t");
  try {
    if (token && typeof alone === "undefined") {
      history.replaceState(null, "", location.pathname);
      await ask("session", {token});
      state = null;  // whoever opens a link here goes on as its owner
    }
    show(await ask("state"));
  } catch (error) {
    tell(error.message);
  }
}
addEventListener("hashchange", start);
start();
