/**
 * Draws a document through anywidget: in VS Code, Colab and marimo, and while something runs.
 *
 * The whole document is a trait of bytes (UTF-8 JSON); what is measured meanwhile arrives as
 * messages that extend its lists, so that a long sweep is not sent again for each point.
 */

import { isObject, parsed } from "../document/document";
import type { ViewSet } from "../frame/part";
import { type Mount, mountWith } from "../frame/place";
import { EVERY } from "../frame/registry";
import { keepKeys } from "./shortcuts";
import { noteOpened, steadily } from "./steady";

/** What anywidget gives a module; only what is used here. */
interface Model {
  get(name: string): unknown;
  on(event: string, handler: (...values: unknown[]) => void): void;
  off(event: string, handler: (...values: unknown[]) => void): void;
}

interface Place {
  readonly model: Model;
  readonly el: HTMLElement;
}

/** The document of one model as far as it is known, and the views that follow it. */
interface Feed {
  document: unknown;
  readonly followers: Set<(document: unknown) => void>;
}

/** From the first message on, views or not: a busy kernel cannot be asked later. */
const feeds = new WeakMap<Model, Feed>();

function initialize({ model }: { readonly model: Model }): void {
  feedOf(model);
}

function render(mount: Mount, { model, el }: Place): () => void {
  const feed = feedOf(model);
  const picture = mount(el, feed.document, { view: String(model.get("view") ?? "") });
  noteOpened(el);
  const follow = (document: unknown): void => steadily(el, () => picture.update(document));
  feed.followers.add(follow);
  const releaseKeys = keepKeys();
  return () => {
    releaseKeys();
    feed.followers.delete(follow);
    picture.destroy();
  };
}

function feedOf(model: Model): Feed {
  const known = feeds.get(model);
  if (known !== undefined) {
    return known;
  }
  const feed: Feed = { document: documentOf(model), followers: new Set() };
  const tell = (): void => {
    for (const follow of feed.followers) {
      follow(feed.document);
    }
  };
  model.on("change:document", () => {
    feed.document = documentOf(model);
    tell();
  });
  model.on("msg:custom", (message) => {
    feed.document = extended(feed.document, message);
    tell();
  });
  feeds.set(model, feed);
  return feed;
}

/** `{"append": {"points": [...]}}` lengthens lists, `{"set": {"wall_ns": 5}}` replaces values. */
export function extended(document: unknown, message: unknown): unknown {
  if (!isObject(document) || !isObject(message)) {
    return document;
  }
  const longer = { ...document, ...(isObject(message.set) ? message.set : {}) };
  for (const [key, more] of Object.entries(isObject(message.append) ? message.append : {})) {
    const list: unknown = longer[key];
    longer[key] = [...(Array.isArray(list) ? list : []), ...(Array.isArray(more) ? more : [])];
  }
  return longer;
}

function documentOf(model: Model): unknown {
  const value = model.get("document");
  // marimo hands over a Uint8Array, the Jupyter front ends a DataView.
  const bytes = ArrayBuffer.isView(value) ? value : new Uint8Array();
  return parsed(typeof value === "string" ? value : new TextDecoder().decode(bytes));
}

/** What a module for anywidget exports: one for each kind of document. */
export function widgetWith(views: ViewSet) {
  const mount = mountWith(views);
  return { initialize, render: (place: Place): (() => void) => render(mount, place) };
}

export default /* @__PURE__ */ widgetWith(EVERY);
