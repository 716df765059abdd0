"use strict";
(() => {
  const items = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const percent = (part) => `${Math.round(100 * part)}%`;
  const element = (name, text, className) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };

  document.documentElement.classList.add("js");
  byId("tools").hidden = false;
  byId("tools").addEventListener("submit", (event) => event.preventDefault());

  const clusters = all(".cluster");
  const tiles = all(".tile");
  const points = all("#plane circle");
  const thumbOf = new Map();
  for (const tile of tiles) thumbOf.set(Number(tile.dataset.i), tile.firstElementChild);
  const longerSide = (i) => {
    const { style } = thumbOf.get(i);
    return Math.max(style.getPropertyValue("--w"), style.getPropertyValue("--h"));
  };
  const thumbnail = (i, zoom) => {
    const copy = thumbOf.get(i).cloneNode(true);
    copy.style.setProperty("--zoom", zoom);
    return copy;
  };

  // Galleries: show the first or all images; each gallery has one tab stop.

  const shownTiles = (gallery) => all(".tile", gallery).filter((tile) => tile.offsetParent !== null);
  const stopAt = (gallery, chosen) => {
    for (const tile of all(".tile", gallery)) tile.tabIndex = tile === chosen ? 0 : -1;
  };
  const folds = all(".fold");  // lists that can be expanded
  const label = (fold) => {
    const more = fold.querySelector(".more");
    const entries = all(fold.dataset.entries, fold);
    const open = fold.classList.contains("open");
    more.textContent = open ? "Show fewer" : `Show all ${entries.length.toLocaleString("en")}`;
    more.setAttribute("aria-expanded", String(open));
    const clipped = entries.some((entry) => getComputedStyle(entry).display === "none");
    more.hidden = fold.classList.contains("filtered") || (!open && !clipped);
  };
  for (const fold of folds) {
    fold.querySelector(".more").addEventListener("click", () => {
      fold.classList.toggle("open");
      settle();
    });
  }
  const galleries = all(".gallery");
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  for (const gallery of galleries) {
    gallery.addEventListener("focusin", (event) => stopAt(gallery, event.target));
    gallery.addEventListener("keydown", (event) => {
      const list = shownTiles(gallery);
      const at = list.indexOf(event.target.closest(".tile"));
      const to = { Home: 0, End: list.length - 1 }[event.key] ?? at + steps[event.key];
      if (!list[to]) return;
      event.preventDefault();
      list[to].focus();
    });
  }

  const settle = () => {
    folds.forEach(label);
    for (const gallery of galleries) stopAt(gallery, shownTiles(gallery)[0]);
  };
  settle();
  matchMedia("(max-width: 40rem)").addEventListener("change", settle);

  // Find images, sort clusters, order images.

  const folded = (text) => text.normalize().toLowerCase();
  const haystack = items.map((item) => folded(`${item.name} ${item.class ?? ""}`));
  const hasMatch = (place) => place.querySelector("li:not([hidden])") !== null;
  let matches = items.map(() => true);
  const find = () => {
    const wanted = folded(byId("find").value.trim());
    matches = haystack.map((text) => text.includes(wanted));
    for (const tile of tiles) tile.parentElement.hidden = !matches[tile.dataset.i];
    for (const pair of all(".pairs > li")) pair.hidden = !matches[pair.dataset.i];
    points.forEach((point, i) => point.classList.toggle("faded", !matches[i]));
    for (const fold of folds) fold.classList.toggle("filtered", wanted !== "");
    for (const cluster of clusters) cluster.hidden = !hasMatch(cluster);
    for (const group of all(".groups > *")) group.hidden = !hasMatch(group);
    for (const note of all(".no-match")) note.hidden = hasMatch(note.parentElement);
    if (!matches[chosen]) choose(-1);
    const count = matches.filter(Boolean).length;
    byId("nothing").hidden = count > 0;
    byId("matches").textContent = wanted === "" ? ""
      : `${count.toLocaleString("en")} of ${items.length.toLocaleString("en")} images match`;
    settle();
  };
  let waiting = 0;
  byId("find").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(find, 120);
  });

  const value = (cluster, name) => Number(cluster.dataset[name]);
  const orders = {
    number: (a, b) => value(a, "number") - value(b, "number"),
    largest: (a, b) => value(b, "size") - value(a, "size"),
    smallest: (a, b) => value(a, "size") - value(b, "size"),
    tightest: (a, b) => value(b, "tightness") - value(a, "tightness"),
    loosest: (a, b) => value(a, "tightness") - value(b, "tightness"),
  };
  byId("sort").addEventListener("change", (event) => {
    byId("cluster-list").append(...clusters.toSorted(orders[event.target.value]));
  });
  const typical = new Map(clusters.map((cluster) => [cluster, all(".gallery li", cluster)]));
  byId("order").addEventListener("change", (event) => {
    for (const [cluster, list] of typical) {
      const wanted = event.target.value === "typical" ? list : list.toReversed();
      cluster.querySelector(".gallery").append(...wanted);
    }
    settle();
  });

  // Light and dark theme.

  const dark = () => (document.documentElement.dataset.theme
    ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const nameTheme = () => { byId("theme").textContent = dark() ? "Light" : "Dark"; };
  byId("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    nameTheme();
  });
  nameTheme();

  // The viewer shows an enlarged image, and steps through the list it was opened from.

  const ENLARGED = 256;  // minimum longer side of a shown image, in pixels
  const viewer = byId("viewer");
  let list = [];
  let at = 0;
  const fact = (name, text) => {
    const pair = element("div");
    const detail = element("dd", text);
    detail.dir = "auto";
    pair.append(element("dt", name), detail);
    return pair;
  };
  const show = (to) => {
    at = to;
    const i = list[at];
    const item = items[i];
    const side = longerSide(i);
    byId("viewer-thumb").replaceChildren(thumbnail(i, Math.max(1, Math.min(ENLARGED / side, innerWidth / side - 1))));
    byId("viewer-thumb").style.visibility = "visible";
    byId("viewer-name").replaceChildren(element("bdi", item.name));
    byId("viewer-facts").replaceChildren(
      fact("Cluster", String(item.cluster)),
      fact("Confidence", percent(item.confidence)),
      fact("Reconstruction error", percent(item.error)),
      ...(item.class === null ? [] : [fact("Class", item.class)]),
    );
    for (const [name, end] of [["previous", 0], ["next", list.length - 1]]) {
      const button = byId(name);
      if (at === end && document.activeElement === button) viewer.focus();  // a disabled button would lose the keys
      button.disabled = at === end;
    }
    showOriginal(item);
  };
  const showOriginal = (item) => {
    const image = byId("viewer-image");
    const link = byId("viewer-link");
    image.hidden = true;
    link.hidden = item.link === null;
    image.removeAttribute("src");
    if (item.link === null) return;
    link.href = item.link;
    image.onload = () => {  // if the file is gone, the thumbnail stays
      const { naturalWidth: width, naturalHeight: height } = image;
      const side = Math.max(width, height);
      image.style.width = `min(100%, ${width * Math.max(1, ENLARGED / side)}px, ${60 * width / height}vh)`;
      image.classList.toggle("small", side < ENLARGED / 2);
      image.alt = item.name;
      image.hidden = false;
      byId("viewer-thumb").style.visibility = "hidden";
    };
    image.onerror = () => { link.hidden = true; };
    image.src = item.link;
  };
  const open = (gallery, i) => {
    list = all("li:not([hidden]) .tile", gallery).map((tile) => Number(tile.dataset.i));
    show(list.indexOf(i));
    if (!viewer.open) viewer.showModal();
  };
  for (const gallery of galleries) {
    gallery.addEventListener("click", (event) => {
      const tile = event.target.closest(".tile");
      if (tile) open(gallery, Number(tile.dataset.i));
    });
  }
  byId("previous").addEventListener("click", () => show(at - 1));
  byId("next").addEventListener("click", () => show(at + 1));
  byId("close").addEventListener("click", () => viewer.close());
  viewer.addEventListener("click", (event) => { if (event.target === viewer) viewer.close(); });
  viewer.addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft" && at > 0) show(at - 1);
    if (event.key === "ArrowRight" && at < list.length - 1) show(at + 1);
  });

  // The map.

  const plane = byId("plane");
  const tip = byId("tip");
  const svg = plane.querySelector("svg");
  const places = points.map((point) => [Number(point.getAttribute("cx")), Number(point.getAttribute("cy"))]);
  const byCluster = items.map((_, i) => i).sort((a, b) => items[a].cluster - items[b].cluster);
  let chosen = -1;
  const choose = (i) => {
    points[chosen]?.classList.remove("chosen");
    chosen = i;
    tip.hidden = i < 0;
    if (i < 0) return;
    points[i].classList.add("chosen");
    const item = items[i];
    const name = element("p");
    name.append(element("bdi", item.name));
    const text = `Cluster ${item.cluster}, confidence ${percent(item.confidence)}`;
    tip.replaceChildren(thumbnail(i, Math.max(1, Math.round(96 / longerSide(i)))), name,
      element("p", item.class === null ? text : `${text}, class ${item.class}`));
    const scale = svg.clientWidth / 104;
    const [x, y] = [(places[i][0] + 2) * scale, (places[i][1] + 2) * scale];
    const left = x + tip.offsetWidth + 16 > plane.clientWidth ? x - tip.offsetWidth - 12 : x + 12;
    tip.style.left = `${Math.max(0, left)}px`;
    tip.style.top = `${Math.max(0, Math.min(y + 12, plane.clientHeight - tip.offsetHeight))}px`;
  };
  const nearest = (event) => {
    const box = svg.getBoundingClientRect();
    const x = (event.clientX - box.left) * 104 / box.width - 2;
    const y = (event.clientY - box.top) * 104 / box.height - 2;
    let best = -1;
    let least = 9;
    places.forEach(([px, py], i) => {
      const squared = (px - x) ** 2 + (py - y) ** 2;
      if (squared < least && matches[i]) [best, least] = [i, squared];
    });
    return best;
  };
  const openFromMap = (i) => { if (i >= 0) open(byId(`cluster-${items[i].cluster}`), i); };
  svg.addEventListener("pointermove", (event) => {
    const i = nearest(event);
    if (i !== chosen) choose(i);
  });
  svg.addEventListener("pointerleave", () => choose(-1));
  svg.addEventListener("click", (event) => openFromMap(nearest(event)));
  plane.addEventListener("blur", () => choose(-1));
  plane.addEventListener("keydown", (event) => {
    if (event.target !== plane) return;
    if (event.key === "Enter") {
      event.preventDefault();  // Enter would also press a button of the viewer
      openFromMap(chosen);
    }
    if (event.key === "Escape") choose(-1);
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const order = byCluster.filter((i) => matches[i]);
    if (order.length === 0) return;
    const now = order.indexOf(chosen);
    choose(order[now < 0 ? 0 : (now + step + order.length) % order.length]);
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || viewer.open || event.target.matches("input, select")) return;
    event.preventDefault();
    byId("find").focus();
  });
})();
