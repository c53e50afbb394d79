/* Draws the documents of a page with the renderer of the notebooks. Works from plain files, too. */
(() => {
  const here = document.currentScript.src.replace(/[^/]*$/, "");
  const added = {};
  let count = 0;

  function add(kind) {
    added[kind] ??= new Promise((done, failed) => {
      const style = document.createElement("link");
      Object.assign(style, { rel: "stylesheet", href: `${here}serprof-${kind}.css` });
      const script = document.createElement("script");
      Object.assign(script, { src: `${here}serprof-${kind}.js`, onload: done, onerror: failed });
      document.head.append(style, script);
    });
    return added[kind];
  }

  async function draw(place) {
    await add(place.dataset.kind);
    const source = place.querySelector("script").textContent;
    const model = { get: (name) => (name === "document" ? source : ""), on() {}, off() {} };
    const picture = document.createElement("div");
    place.append(picture);
    window.serprof[place.dataset.kind].render({ model, el: picture });
    place.querySelector("img")?.remove();
    for (const trail of picture.querySelectorAll("nav")) {
      count += 1; // each of them is a landmark of its own
      trail.setAttribute("aria-label", `${trail.getAttribute("aria-label") ?? "Path"} ${count}`);
    }
    // A picture stands below the title of its page, whatever the level of its own first line.
    picture.querySelector(".jsp-headline")?.setAttribute("aria-level", "2");
  }

  /* Furo keeps its theme at the body; the pictures look at the root. */
  function follow() {
    const { theme } = document.body.dataset;
    if (theme === "light" || theme === "dark") {
      document.documentElement.dataset.theme = theme;
    } else {
      delete document.documentElement.dataset.theme;
    }
  }

  /* What the theme leaves out for those who listen, or have no mouse. */
  function complete() {
    for (const [name, label] of [["sidebar", "Pages"], ["toc", "On this page"]]) {
      document.querySelector(`.${name}-drawer`)?.setAttribute("aria-label", label);
    }
    for (const caption of document.querySelectorAll(".caption[role=heading]")) {
      caption.setAttribute("aria-level", "2");
    }
    if (!document.querySelector("article h1")) {
      const title = document.createElement("h1");
      title.textContent = document.title.split(" - ")[0];
      document.querySelector("article")?.prepend(title);
    }
    reach();
  }

  /* What scrolls can be reached by the keyboard. */
  function reach() {
    for (const place of document.querySelectorAll("pre, .table-wrapper")) {
      if (place.scrollWidth > place.clientWidth) place.tabIndex = 0;
    }
  }

  addEventListener("resize", reach);
  addEventListener("load", reach);
  addEventListener("DOMContentLoaded", () => {
    follow();
    complete();
    new MutationObserver(follow).observe(document.body, { attributeFilter: ["data-theme"] });
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries.filter((each) => each.isIntersecting)) {
        seen.unobserve(entry.target);
        draw(entry.target);
      }
    }, { rootMargin: "400px" });
    for (const place of document.querySelectorAll(".serprof")) seen.observe(place);
  });
})();
