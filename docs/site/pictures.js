/* Draws the documents of a page with the renderer of the notebooks. Works from plain files, too. */
(() => {
  const here = document.currentScript.src.replace(/[^/]*$/, "");
  const added = {};

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

  addEventListener("DOMContentLoaded", () => {
    follow();
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
