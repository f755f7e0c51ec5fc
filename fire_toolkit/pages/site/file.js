"use strict";
// What a server does for the page, done in the browser: a page from a file. Each answer is a record in this
// browser's database, flushed to disk before the next caption comes; records are only added, never changed.
const alone = (() => {
  const content = JSON.parse(document.getElementById("content").textContent), head = content.head;
  const name = `fire-toolkit:${head.campaign}:${head.annotator}`;
  const total = content.pages.reduce((sum, page) => sum + page.captions.length, 0);
  const texts = new Map(content.pages.flatMap(page => page.captions.map(caption => [caption.task, caption.text])));
  let store = null, log = [];

  const opened = () => new Promise((done, fail) => {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore("log", {keyPath: "n"});
    request.onsuccess = () => done(request.result);
    request.onerror = () => fail(request.error);
  });
  const read = () => new Promise((done, fail) => {
    const request = store.transaction("log").objectStore("log").getAll();
    request.onsuccess = () => done(request.result);
    request.onerror = () => fail(request.error);
  });
  // `add` refuses a number that is taken, so two tabs cannot write over one another.
  const added = record => new Promise((done, fail) => {
    const change = store.transaction("log", "readwrite", {durability: "strict"});
    change.objectStore("log").add(record);
    change.oncomplete = () => done();
    change.onabort = () => fail(change.error);
  });
  const isAlone = () => new Promise(done => {
    if (!navigator.locks) return done(true);
    navigator.locks.request(name, {ifAvailable: true}, lock => {
      done(lock !== null);
      return lock && new Promise(() => {});
    });
  });

  async function begin() {
    if (!await isAlone()) throw new Error("This page is open in another tab. Close this one, or that one and reload.");
    try {
      store = await opened();
      log = await read();
    } catch (error) {
      throw new Error(`This browser keeps nothing for pages from files (${error}). Try Chrome, Edge or Firefox, ` +
        "in a window that is not private.");
    }
    if (navigator.storage && navigator.storage.persist) navigator.storage.persist().catch(() => {});
  }

  function answers() {
    const found = new Map();
    for (const record of log) {
      if (record.kind === "undo") found.delete(record.task);
      if (record.kind === "answer") { found.delete(record.task); found.set(record.task, record); }
    }
    return found;
  }

  function state() {
    const given = answers(), own = [...given.keys()].filter(task => texts.has(task));
    const hasAgreed = log.some(record => record.kind === "consent" && record.text_sha256 === content.consent_sha256);
    const shown = {...content.shown, who: head.annotator, consent: hasAgreed ? null : content.consent};
    if (!hasAgreed) return shown;
    const before = new Map(log.filter(record => record.kind === "answer").map(record => [record.task, record.label]));
    const left = content.pages.filter(page => page.captions.some(caption => !given.has(caption.task)));
    const pages = left.slice(0, 2).map(page => ({...page, captions: page.captions.map(caption => ({
      ...caption, label: given.has(caption.task) ? given.get(caption.task).label : null, was: before.get(caption.task)}))}));
    const last = own.slice(-5).reverse().map(task => ({task, text: texts.get(task), label: given.get(task).label}));
    return {...shown, done: own.length, total, can_undo: own.length > 0, last,
      page: pages[0] || null, next: pages[1] || null,
      farewell: "Save your answers as a file and send it to whoever gave you this page."};
  }

  async function add(kind, entries) {
    const last = log[log.length - 1];
    const at = new Date(Math.max(Date.now(), last ? Date.parse(last.at) + 1 : 0)).toISOString();
    const record = {n: last ? last.n + 1 : 1, kind, at, ...entries};
    try {
      await added(record);
    } catch (error) {
      throw new Error(`Not kept (${error}). Is the disk full, or the page open in another tab? Reload this page: ` +
        "all earlier answers are there.");
    }
    log.push(record);
  }

  async function ask(path, sent) {
    if (!store) await begin();
    const now = state();
    if (path === "consent") await add("consent", {key: sent.key, text_sha256: content.consent_sha256});
    if (path === "undo" && now.can_undo) for (const task of undone(sent.task || "", now.last[0].task)) await add("undo", {key: sent.key, task});
    if (path === "answer") for (const [page, place] of asked(now.page, sent))
      await add("answer", {...sent, task: page.captions[place].task,
        page: page.captions.length > 1 ? page.id : "", position: place + 1});
    return state();
  }

  // What an answer is to: its task; a report is to all that is left of the item.
  function asked(now, sent) {
    const given = answers(), isReport = sent.label === "" && content.shown.kind !== "none" && content.shown.kind !== "text";
    return content.pages.filter(page => page.media === now.media && page.reference === now.reference)
      .flatMap(page => page.captions.map((caption, place) => [page, place]))
      .filter(([page, place]) => page.captions[place].task === sent.task ||
        (isReport && !given.has(page.captions[place].task)));
  }

  // The task named, else the last one, or the last report whole.
  function undone(named, last) {
    const given = answers(), record = given.get(last);
    if (named || record.label) return [named || last];
    return [...given.keys()].filter(task => given.get(task).key === record.key && texts.has(task));
  }

  function crc32(bytes) {
    let crc = -1;
    for (const byte of bytes) {
      crc ^= byte;
      for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return (crc ^ -1) >>> 0;
  }

  function save() {
    if (!store) return;
    const body = [head, ...log].map(line => JSON.stringify(line) + "\n").join("");
    const end = JSON.stringify({records: log.length, crc32: crc32(new TextEncoder().encode(body))});
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([body, end, "\n"], {type: "application/jsonl"}));
    link.download = `answers.${head.annotator}.jsonl`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    document.body.dataset.saved = log.length;
  }

  return {ask, save, instructions: content.instructions};
})();
