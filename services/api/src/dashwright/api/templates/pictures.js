"use strict";
// Pictures that fail say why, and pictures are drawn again at the interval of the page. Without this script, the alternative text of a
// picture is shown, and the whole page is loaded again.
const tries = new WeakMap();
const MAX_TRIES = 4;

function load(image, mark) {
  const again = (address) => address.replace(/&again=[0-9]+/, "") + "&again=" + mark;
  for (const source of image.parentElement.querySelectorAll("source")) source.srcset = again(source.srcset);
  image.src = again(image.src);
}

function show(image, reason) {
  const note = document.createElement("p");
  note.className = "failure";
  const title = document.createElement("strong");
  title.textContent = image.alt;
  note.append(title, reason);
  image.parentElement.hidden = true;
  image.parentElement.after(note);
}

async function explain(image) {
  const count = (tries.get(image) || 0) + 1;
  tries.set(image, count);
  let reason = "The server could not be reached.";
  try {
    const response = await fetch(image.currentSrc || image.src, { headers: { Accept: "application/json" } });
    const mayPass = response.ok || response.status === 429 || response.status === 503;
    if (mayPass && count < MAX_TRIES) {
      setTimeout(load, 1000 * count * (Number(response.headers.get("Retry-After")) || 1), image, count);
      return;
    }
    reason = (await response.json()).message || "The picture could not be drawn (" + response.status + ").";
  } catch (error) {
    if (error instanceof SyntaxError) reason = "The picture could not be drawn.";
  }
  show(image, reason);
}

function redraw() {
  if (document.hidden) return;
  for (const note of document.querySelectorAll("figure .failure")) {
    if (note.previousElementSibling) { note.previousElementSibling.hidden = false; note.remove(); }
  }
  for (const image of document.querySelectorAll("figure img")) { tries.delete(image); load(image, Date.now()); }
}

addEventListener("error", (event) => { if (event.target instanceof HTMLImageElement) explain(event.target); }, true);
for (const image of document.querySelectorAll("figure img")) if (image.complete && image.currentSrc && !image.naturalWidth) explain(image);
const interval = document.querySelector("meta[name=refresh-seconds]");
if (interval) setInterval(redraw, 1000 * Number(interval.content));
