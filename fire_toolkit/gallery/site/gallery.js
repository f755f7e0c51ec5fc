"use strict";
// Data come by scripts that call gallery.index and gallery.shard; every text is set as text, never as HTML.
const gallery = (() => {
  const FILTERS = ["new positives", "split votes", "winner lost", "rejected originals", "unusable caption", "disputes", "unjudged docs", "more winners"];
  const UNUSABLE = 4, WINNER_LOST = 2, MORE_WINNERS = 7, ROW = 57.6, KEPT = 4;
  const UNJUDGED = FILTERS[6], hasOf = (n) => FILTERS.filter((_, bit) => all.flags[n] >> bit & 1);
  const NAMES = { irrelevant: "not relevant", own: "own item" };
  const $ = (id) => document.getElementById(id);
  const make = (name, classes, text) => { const node = document.createElement(name); if (classes) node.className = classes; if (text !== undefined) node.textContent = text; return node; };
  const quiet = matchMedia("(prefers-reduced-motion: reduce)");
  let all, place, lower, rows = [], view = "captions", mask = 0, here = -1, target = "", numbered = [], playing = null;
  const shards = new Map(), waiting = new Map();
  let marks = [], stop = 0;  // stop: the row of the list that Tab reaches; arrows go on from there

  // ---- data
  function index(data) {
    all = data;
    place = new Map(all.ids.map((id, n) => [id, n]));
    document.title = `${all.title}: gallery`;
    $("title").textContent = `Gallery: ${all.title}`;
    $("subtitle").append(...all.subtitle.split("`").map((text, at) => at % 2 ? make("code", "", text) : text));
    marks = loadMarks();
    if (all.public) document.querySelector("[data-view=marks]").hidden = $("key-of-marks").hidden = true;
    makeFilters();
    $("only").open = innerWidth > 760;
    makeReasons();
    window.addEventListener("hashchange", follow);
    follow();
    if (!location.hash && all.findings.length && all.findings[0].n) { choose("found"); location.replace(address(rows[0])); } else list();
  }
  function shard(number, made, data) {
    if (made !== all.made) { waiting.delete(number); halt("The gallery was written anew while this page was open: load the page again."); return; }
    shards.set(number, data);
    for (const old of [...shards.keys()].slice(0, -KEPT)) shards.delete(old);
    for (const then of waiting.get(number) || []) then();
    waiting.delete(number);
  }
  function withShard(number, then) {
    if (shards.has(number)) { then(); return; }
    if (waiting.has(number)) { waiting.get(number).push(then); return; }
    waiting.set(number, [then]);
    const script = make("script");
    script.charset = "utf-8";
    script.src = `data/${String(number).padStart(4, "0")}.js`;
    script.onload = () => script.remove();
    script.onerror = () => { waiting.delete(number); halt(`${script.src} cannot be read: the gallery's folder is not whole.`); };
    document.head.append(script);
  }
  const halt = (words) => $("main").replaceChildren(make("p", "", words));

  // ---- what is listed
  function makeFilters() {
    FILTERS.forEach((name, bit) => {
      const n = all.flags.reduce((sum, flags) => sum + ((flags >> bit) & 1), 0);
      const button = make("button", "", `${name} `);
      button.type = "button";
      button.append(make("b", "", n.toLocaleString("en")));
      button.setAttribute("aria-pressed", "false");
      button.disabled = n === 0;
      button.onclick = () => { mask ^= 1 << bit; button.setAttribute("aria-pressed", String(Boolean(mask >> bit & 1))); list(); };
      $("filters").append(button);
    });
  }
  function makeReasons() {
    all.findings.forEach((finding, n) => {
      const shown = finding.query.length, count = shown < finding.n ? `first ${shown.toLocaleString("en")} of ${finding.n.toLocaleString("en")}` : finding.n.toLocaleString("en");
      const option = make("option", "", `${count}: ${finding.why}`);
      option.value = String(n);
      $("why").append(option);
    });
    $("why").onchange = list;
    if (!all.findings.length) $("why").hidden = $("labels").hidden = $("key-of-labels").hidden = true;  // nothing is labelled
  }
  function list() {
    if (view === "captions") rows = captions();
    else if (view === "found") { rows = found(); $("reason").textContent = all.findings[Number($("why").value)]?.why ?? "Nothing was judged."; }
    else rows = marks.map(([query, doc]) => ({ n: place.get(query) ?? -1, query, doc, note: doc }));
    const one = view === "captions" ? "caption" : "pair";
    const of = view === "captions" && rows.length < all.ids.length ? ` of ${all.ids.length.toLocaleString("en")}` : "";
    $("count").textContent = `${rows.length.toLocaleString("en")}${of} ${one}${(of ? all.ids.length : rows.length) === 1 ? "" : "s"}`;
    $("rows").style.height = `${rows.length * ROW}px`;
    $("list").scrollTop = stop = 0;
    draw();
    showHere();
  }
  function captions() {
    const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length && !lower) lower = all.texts.map((text, n) => `${text}\n${all.ids[n]}`.toLowerCase());
    const found = [];
    for (let n = 0; n < all.ids.length; n++) {
      if ((all.flags[n] & mask) === mask && words.every((word) => lower[n].includes(word))) found.push({ n });
    }
    return found;
  }
  function found() {
    const finding = all.findings[Number($("why").value)];
    if (!finding) return [];
    return finding.query.map((n, at) => ({ n, doc: finding.doc[at], note: `${finding.for[at]} for, ${finding.against[at]} against · top ${all.top} in ${finding.top[at]} of ${all.runs.length} models${finding.rank[at] ? `, best ${finding.rank[at]}` : ""}` }));
  }
  const address = (row) => "#" + encodeURIComponent(row.query ?? all.ids[row.n]) + (row.doc === undefined ? "" : "/" + encodeURIComponent(row.doc));
  const isHere = (row) => row.n === here && (row.doc === undefined ? view === "captions" : row.doc === target);
  function draw() {
    const box = $("list"), first = Math.max(0, Math.floor(box.scrollTop / ROW) - 5), last = Math.min(rows.length, first + Math.ceil(box.clientHeight / ROW) + 10);
    const drawn = [], focused = document.activeElement.closest("#rows li"), back = focused ? Number(focused.dataset.at) : -1;
    const reached = stop >= first && stop < last ? stop : Math.ceil(box.scrollTop / ROW);
    for (let at = first; at < last; at++) {
      const row = rows[at], item = make("li"), link = make("a");
      item.style.top = `${at * ROW}px`;
      item.setAttribute("aria-setsize", String(rows.length));
      item.setAttribute("aria-posinset", String(at + 1));
      item.dataset.at = String(at);
      link.href = address(row);
      link.tabIndex = at === reached ? 0 : -1;
      if (isHere(row)) link.setAttribute("aria-current", "true");
      const text = make("span", "text", all.texts[row.n] || row.query || all.ids[row.n]);
      text.dir = "auto";
      const has = row.note ?? hasOf(row.n).filter((name) => name !== UNJUDGED).join(" · ");
      link.append(text, make("span", "has", has || "–"));
      item.append(link);
      drawn.push(item);
    }
    $("rows").replaceChildren(...drawn);
    if (back >= 0) focusRow(back);
  }
  const focusRow = (at) => { const link = $("rows").querySelector(`[data-at="${at}"] a`); if (link) link.focus({ preventScroll: true }); };
  function reveal(at) {
    const box = $("list"), top = at * ROW;
    if (top < box.scrollTop || top + ROW > box.scrollTop + box.clientHeight) box.scrollTop = Math.max(0, top - box.clientHeight / 2);
    stop = at;
    draw();
  }
  function showHere() {
    const at = rows.findIndex(isHere);
    if (at >= 0) reveal(at);
  }
  const ARROWS = { ArrowDown: (at) => at + 1, ArrowUp: (at) => at - 1, Home: () => 0, End: () => rows.length - 1 };
  function rove(event) {
    const move = ARROWS[event.key], focused = event.target.closest("li");
    if (!move || !focused) return;
    event.preventDefault();
    const at = Math.min(rows.length - 1, Math.max(0, move(Number(focused.dataset.at))));
    reveal(at);
    focusRow(at);
  }
  function step(by) {
    if (!rows.length) return;
    const at = rows.findIndex(isHere);
    const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by));
    location.hash = address(rows[next]);
  }

  // ---- one caption
  function follow() {
    if (location.hash.startsWith("#?")) { filterBy(new URLSearchParams(location.hash.slice(2)).get("only")); return; }
    const [query, doc] = location.hash.slice(1).split("/").map((part) => { try { return decodeURIComponent(part); } catch { return part; } });
    target = doc ?? "";
    if (!query) { if (all.ids.length) open(0); else $("main").replaceChildren(make("p", "", "There are no captions.")); return; }
    if (!place.has(query)) { here = -1; const word = make("p", "", "No caption has the id "); word.append(make("bdi", "id", query)); $("main").replaceChildren(word); return; }
    open(place.get(query));
  }
  // A link of the report: only captions with what it names, from the first of them.
  function filterBy(name) {
    const bit = FILTERS.indexOf(name);
    if (bit >= 0 && !(mask >> bit & 1)) $("filters").children[bit].click();
    if (rows.length) open(rows[0].n); else if (all.ids.length) open(0);
  }
  function open(n) {
    here = n;
    withShard(Math.floor(n / all.size), () => { if (here === n) show(n); });
    showHere();
    draw();
  }
  function show(n) {
    const data = shards.get(Math.floor(n / all.size)), local = n % all.size;
    closeLarge();
    watch.disconnect();
    hideTip();
    const heading = make("h2", "", all.texts[n] || all.ids[n]);
    heading.id = "caption";
    heading.dir = "auto";
    const about = make("div", "about");
    about.append(make("span", "id", all.ids[n]), make("span", "", `${(n + 1).toLocaleString("en")} of ${all.ids.length.toLocaleString("en")}`));
    for (const [by, words] of [[-1, "‹ Previous"], [1, "Next ›"]]) { const button = make("button", "", words); button.type = "button"; button.onclick = () => step(by); about.append(button); }
    if (all.flags[n] >> UNUSABLE & 1) about.append(make("span", "badge s-unusable", "unusable caption"));
    if (all.flags[n] >> WINNER_LOST & 1) about.append(make("span", "badge s-winner", "a winner lost its place"));
    if (all.flags[n] >> MORE_WINNERS & 1) about.append(make("span", "badge s-winner", "more winners"));
    const columns = make("div", "runs"), depth = all.depth, listed = new Set(), placed = [];
    const says = make("section", "run says"), originals = make("ol");
    says.setAttribute("aria-label", "The benchmark says");
    says.append(make("h3", "", "The benchmark says"), originals);
    for (let pair = data.at[local]; pair < data.at[local + 1]; pair++) if (data.original[pair]) { listed.add(pair); originals.append(cell(data, n, pair, 0)); }
    all.runs.forEach((name, run) => {
      const part = make("section", "run"), ranks = make("ol");
      part.setAttribute("aria-label", name);
      part.append(make("h3", "", name), ranks);
      for (let rank = 0; rank < depth; rank++) {
        const pair = data.lists[(local * all.runs.length + run) * depth + rank];
        if (pair < 0) continue;
        listed.add(pair);
        const node = cell(data, n, pair, rank + 1);
        ranks.append(node);
        placed.push([rank * all.runs.length + run, node]);
      }
      if (!ranks.childElementCount) ranks.append(make("li", "", "nothing ranked"));
      columns.append(part);
    });
    const from = data.starts[local], start = make("div", "pair reference");
    start.dataset.doc = all.start;
    if (from) { start.append(screen(from, all.start)); says.prepend(make("h3", "", all.start), start); }
    const parts = [heading, about, ...(from || originals.childElementCount ? [says] : []), columns], others = make("ul", "others");
    for (let pair = data.at[local]; pair < data.at[local + 1]; pair++) if (!listed.has(pair)) { const node = cell(data, n, pair, 0); others.append(node); placed.push([Infinity, node]); }
    number(placed);
    if (others.childElementCount) parts.push(make("h3", "", `In no list above: ${others.childElementCount}`), others);
    $("main").replaceChildren(...parts);
    if (!columns.childElementCount) columns.remove();
    for (const screen of $("main").querySelectorAll(".screen")) watch.observe(screen);
    const wanted = placed.map(([, node]) => node).filter((node) => target && node.dataset.doc === target);
    for (const node of wanted) node.classList.add("target");
    $("main").scrollTop = 0;
    if (wanted.length) wanted[0].scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  function number(placed) {
    placed.sort((a, b) => a[0] - b[0] || 0);
    numbered = placed.slice(0, 9).map(([, node]) => node);
    numbered.forEach((node, at) => { const key = make("kbd", "", String(at + 1)); key.title = "key"; node.querySelector(".top").append(key); });
  }
  function cell(data, n, pair, rank) {
    const doc = data.doc[pair], id = data.docs[doc], media = data.media[doc], node = make("li", "pair"), top = make("div", "top"), name = make("bdi", "doc", id);
    node.dataset.doc = id;
    node.dataset.before = data.original[pair];
    node.dataset.after = data.relevant[pair];
    if (rank) top.append(make("span", "rank", `${rank}`));
    name.title = id;
    top.append(name);
    node.append(top);
    if (media) node.append(screen(media, id));
    const text = data.texts[doc];
    if (text) { const words = make("div", "words", text); words.dir = "auto"; node.append(words); }
    const badges = make("div", "badges"), state = all.states[data.state[pair]];
    badges.append(badge(state, state === "shared" ? `shared: ${data.labels[data.label[pair]]}` : undefined));
    if (data.original[pair] && state === "disputed") badges.append(badge("original"));
    node.append(badges, foot(data, n, pair, id));
    return node;
  }
  const badge = (state, words) => make("span", `badge s-${state}`, words ?? NAMES[state] ?? state);
  function screen(media, id) {
    const [url, kind] = media, button = make("button", "screen");
    button.type = "button";
    button.setAttribute("aria-label", `Show ${id} large`);
    button.dataset.url = url;
    button.dataset.kind = kind;
    if (media[2] !== null) button.dataset.from = media[2];
    if (media[3] !== null) button.dataset.to = media[3];
    button.onclick = () => enlarge(button.closest(".pair"));
    return button;
  }
  function foot(data, n, pair, id) {
    const node = make("div", "foot"), yes = data.for[pair], no = data.against[pair];
    if (yes + no || data.vote && data.vote.at[pair + 1] > data.vote.at[pair]) {
      const words = `${yes} for, ${no} against`;
      if (data.vote) {
        const button = make("button", "votes", words);
        button.type = "button";
        button.onmouseenter = button.onfocus = () => showTip(button, tipOf(data, pair));
        button.onmouseleave = button.onblur = hideTip;
        button.onclick = () => showTip(button, tipOf(data, pair));
        node.append(button);
      } else node.append(make("span", "", words));
    }
    const isJudged = !["unjudged", "original", "shared", "own"].includes(all.states[data.state[pair]]);
    if (!all.public && isJudged) {
      const mark = make("button", "mark");
      mark.type = "button";
      mark.title = "Mark: look at this label again (m)";
      mark.setAttribute("aria-label", "Mark: look at this label again");
      mark.setAttribute("aria-pressed", String(isMarked(all.ids[n], id)));
      mark.onclick = () => mark.setAttribute("aria-pressed", String(toggle(all.ids[n], id)));
      node.append(mark);
      const link = data.links.find(([at]) => at === pair);
      if (link && /^https?:/.test(link[1])) { const a = make("a", "", "task"); a.href = link[1]; a.target = "_blank"; a.rel = "noopener noreferrer"; a.title = "Open the task in Label Studio"; node.append(a); }
    }
    return node;
  }
  function tipOf(data, pair) {
    const lines = make("ul"), label = data.labels[data.label[pair]];
    if (label) lines.append(make("li", "", `label: ${label}`));
    for (let vote = data.vote.at[pair]; vote < data.vote.at[pair + 1]; vote++) {
      const line = make("li", "", `annotator ${data.vote.who[vote]}: ${data.vote.labels[data.vote.label[vote]]}`);
      const note = data.vote.notes.find(([at]) => at === vote);
      if (note && note[1]) line.append(` · ${note[1]}`);
      if (note && note[2]) { const said = make("q", "", note[2]); said.dir = "auto"; line.append(" ", said); }
      lines.append(line);
    }
    return lines;
  }
  function showTip(button, content) {
    hideTip();
    const tip = make("div");
    tip.id = "tip";
    tip.setAttribute("role", "tooltip");
    tip.append(content);
    document.body.append(tip);
    button.setAttribute("aria-describedby", "tip");
    placeTip();
  }
  function placeTip() {
    const tip = $("tip"), button = document.querySelector("[aria-describedby=tip]");
    if (!tip || !button) return;
    const at = button.getBoundingClientRect(), size = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(at.left, innerWidth - size.width - 4))}px`;
    tip.style.top = `${at.bottom + size.height + 6 < innerHeight ? at.bottom + 4 : Math.max(4, at.top - size.height - 4)}px`;
  }
  function hideTip() {
    const tip = $("tip");
    if (tip) tip.remove();
    for (const node of document.querySelectorAll("[aria-describedby=tip]")) node.removeAttribute("aria-describedby");
  }

  // ---- media: what is visible loads and plays, what is not is let go
  const watch = new IntersectionObserver((changes) => { for (const change of changes) if (change.isIntersecting) load(change.target); else unload(change.target); }, { rootMargin: "80px" });
  function load(button) {
    if (button.firstChild) return;
    button.append(button.dataset.kind === "audio" ? make("span", "sound", "♪") : medium(button.dataset, !quiet.matches));
  }
  function unload(button) {
    const video = button.querySelector("video");
    if (video) { video.pause(); video.removeAttribute("src"); video.load(); }
    button.replaceChildren();
  }
  function medium(about, plays) {
    const fault = (node) => { node.onerror = () => node.replaceWith(make("span", "fault", "cannot be shown")); return node; };
    if (about.kind === "image") { const image = fault(make("img")); image.alt = ""; image.src = about.url; return image; }
    const video = fault(make(about.kind === "audio" ? "audio" : "video")), from = Number(about.from || 0), to = Number(about.to || Infinity);
    video.loop = video.playsInline = true;
    video.muted = about.kind !== "audio";
    video.preload = "auto";
    video.autoplay = plays;
    video.tabIndex = -1;
    if (from) video.onloadedmetadata = () => { video.currentTime = from; };
    if (from || to < Infinity) video.ontimeupdate = () => { if (video.currentTime >= to || video.currentTime < from - 1) { video.currentTime = from; if (!video.paused) video.play(); } };
    video.src = about.url;
    return video;
  }
  function enlarge(node) {
    const button = node.querySelector(".screen"), stage = $("stage");
    closeLarge();
    playing = node;
    const name = make("bdi", "id", node.dataset.doc), words = node.querySelector(".words");
    if (button) { const shown = medium(button.dataset, true); if (shown.tagName !== "IMG") shown.controls = true; stage.append(shown); }
    if (words) stage.append(words.cloneNode(true));
    stage.append(name);
    $("large").hidden = false;
    $("body").inert = true;
    $("close").focus();
  }
  function closeLarge() {
    if ($("large").hidden) return;
    const video = $("stage").querySelector("video, audio");
    if (video) { video.pause(); video.removeAttribute("src"); video.load(); }
    $("stage").replaceChildren();
    $("large").hidden = true;
    $("body").inert = false;
    const back = playing && playing.isConnected ? playing.querySelector(".screen") : null;
    playing = null;
    (back || $("main")).focus({ preventScroll: true });
  }

  // ---- marks
  const store = () => `fire-gallery:${location.pathname}`;
  function loadMarks() {
    try { const kept = JSON.parse(localStorage.getItem(store()) || "[]"); return Array.isArray(kept) ? kept.filter((pair) => Array.isArray(pair) && pair.length === 2 && pair.every((id) => typeof id === "string")) : []; } catch { return []; }
  }
  function keepMarks() {
    $("n-marks").textContent = String(marks.length);
    try { localStorage.setItem(store(), JSON.stringify(marks)); } catch { /* kept until the page is closed */ }
    if (view === "marks") list();
  }
  const isMarked = (query, doc) => marks.some((pair) => pair[0] === query && pair[1] === doc);
  function toggle(query, doc) {
    const was = isMarked(query, doc);
    marks = was ? marks.filter((pair) => pair[0] !== query || pair[1] !== doc) : [...marks, [query, doc]];
    keepMarks();
    for (const node of document.querySelectorAll(".pair")) if (all.ids[here] === query && node.dataset.doc === doc) for (const mark of node.querySelectorAll(".mark")) mark.setAttribute("aria-pressed", String(!was));
    return !was;
  }
  const field = (text) => /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  function save(name, columns, table) {
    const text = [columns, ...table].map((row) => row.map(field).join(",")).join("\n") + "\n", link = make("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  // ---- as the benchmark has it, and as it is now
  function labelled(name) {
    $("main").dataset.labels = name;
    for (const button of document.querySelectorAll("[data-of]")) button.setAttribute("aria-pressed", String(button.dataset.of === name));
  }

  // ---- keys and buttons
  function choose(name) {
    view = name;
    for (const button of document.querySelectorAll("[data-view]")) button.setAttribute("aria-pressed", String(button.dataset.view === name));
    for (const part of ["captions", "found", "marks"]) $(`of-${part}`).hidden = part !== name;
    list();
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") { if ($("tip")) hideTip(); else if (!$("large").hidden) closeLarge(); else if (document.activeElement === $("search")) $("search").blur(); return; }
    if (["INPUT", "SELECT", "TEXTAREA"].includes(document.activeElement.tagName)) return;
    if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
    else if (event.key === "b") labelled($("main").dataset.labels === "before" ? "after" : "before");
    else if (event.key === "/") { event.preventDefault(); choose("captions"); $("search").focus(); }
    else if (event.key === "m" && !all.public) { const node = playing || document.activeElement.closest(".pair"); if (node && node.querySelector(".mark")) toggle(all.ids[here], node.dataset.doc); }
    else if (/^[1-9]$/.test(event.key) && numbered[event.key - 1]) { const node = numbered[event.key - 1]; if (playing === node) closeLarge(); else enlarge(node); }
  });
  $("list").addEventListener("scroll", draw, { passive: true });
  $("rows").addEventListener("keydown", rove);
  window.addEventListener("resize", () => all && draw());
  $("search").addEventListener("input", list);
  $("search").addEventListener("keydown", (event) => { if (event.key === "Enter" && rows.length) { location.hash = address(rows[0]); $("main").focus(); } });
  $("download").onclick = () => save("recheck.csv", ["query_id", "doc_id"], marks);
  $("save").onclick = () => {
    if (view === "captions") save("captions.csv", ["query_id", "text", "has"], rows.map((row) => [all.ids[row.n], all.texts[row.n], hasOf(row.n).join("; ")]));
    else save("pairs.csv", ["query_id", "doc_id", "text"], rows.map((row) => [row.query ?? all.ids[row.n], row.doc, all.texts[row.n] ?? ""]));
  };
  for (const button of document.querySelectorAll("[data-of]")) button.onclick = () => labelled(button.dataset.of);
  $("clear").onclick = () => { marks = []; keepMarks(); for (const node of document.querySelectorAll(".mark")) node.setAttribute("aria-pressed", "false"); };
  $("close").onclick = closeLarge;
  $("skip").onclick = (event) => { event.preventDefault(); $("main").focus(); };
  for (const part of [$("main"), window]) part.addEventListener("scroll", placeTip, { passive: true });
  for (const button of document.querySelectorAll("[data-view]")) button.onclick = () => choose(button.dataset.view);
  return { index: (data) => { index(data); keepMarks(); }, shard };
})();
