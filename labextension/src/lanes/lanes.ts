/** Lanes: client, scheduler, workers on one clock. */

import type { Columns } from "../document/decode";
import type { DrawnTrace } from "../document/document";
import { count, duration } from "../document/format";
import { laneLegend } from "../frame/legend";
import type { Part, Stage } from "../frame/part";
import { coalesced, fitted } from "../kit/canvas";
import { element, having } from "../kit/dom";
import type { Range } from "../kit/scale";
import { type Colours, coloursOf } from "../kit/theme";
import { criticalPath, type Step } from "../waterfall/critical";
import { spanFacts, spanSentence, type Tooltip, titleOf, tooltipIn } from "./facts";
import { areaPanel, inTime, matches } from "./find";
import { listen } from "./input";
import { BAR_HEIGHT, layoutLanes, stripOf } from "./layout";
import { type Minimap, minimap } from "./minimap";
import type { Camera } from "./paint";
import { withPyramids } from "./pyramid";
import { arrowsOf, paintLanes, type Shown } from "./scene";
import { type Index, indexSpans } from "./tracks";

/** The canvas is never higher than this; more lanes scroll, px. */
const MOST_HEIGHT = 480;

/** Everything the view remembers between two frames. */
export interface LaneState extends Shown {
  readonly trace: DrawnTrace;
  readonly columns: Columns;
  readonly path: readonly Step[];
  readonly limits: Range;
  range: Range;
  /** Positions in the order of time, of all spans or of those found; made when first needed. */
  walk: Int32Array | null;
}

export function drawnLanes(trace: DrawnTrace, columns: Columns, stage: Stage): Part {
  const index = withPyramids(indexSpans(trace, columns));
  const layout = layoutLanes(trace, index);
  const limits = { from: index.first_ns, to: index.last_ns };
  const path = criticalPath(trace, index);
  const placed = { trace, columns, index, limits, layout, path, range: limits };
  const chosen = { area: null, cursor: null, arrows: [], isPinned: false, found: null, walk: null };
  return new Lanes({ ...placed, ...chosen }, stage);
}

/** Keys and pointer move it by its methods. */
export class Lanes implements Part {
  readonly node: HTMLElement;
  readonly canvas = element("canvas", "jsp-canvas");
  readonly scroller: HTMLElement;
  readonly #map: Minimap;
  readonly #tip: Tooltip;
  readonly #readout = element("span", "jsp-range");
  readonly #area = element("div", "jsp-area");
  #colours: Colours = coloursOf(document.documentElement);
  readonly #frame = coalesced(() => this.#paint());

  constructor(
    readonly state: LaneState,
    readonly stage: Stage,
  ) {
    const { layout, trace, index, columns } = state;
    having(this.canvas, {
      tabindex: 0,
      role: "application",
      "aria-roledescription": "time line of spans",
      "aria-label": describe(trace, index),
    });
    const spacer = element("div", "jsp-lanes-all", this.canvas);
    spacer.style.height = `${layout.height}px`;
    this.scroller = element("div", "jsp-lanes-scroll", spacer);
    this.scroller.style.maxHeight = `${MOST_HEIGHT}px`;
    this.#map = minimap(state.limits, (range) => this.show(range));
    const frame = element("div", "jsp-lanes-frame", this.#map.node, this.scroller);
    this.#tip = tooltipIn(frame);
    const problem = columns.problem === null ? null : element("p", "jsp-outcome", columns.problem);
    const bar = element("div", "jsp-lanes-bar", this.#readout);
    const nothing = "No span was recorded, so there is nothing on the lanes.";
    const isEmpty = index.span.length === 0;
    const first = isEmpty ? element("p", "jsp-note", nothing) : bar;
    const last = isEmpty ? null : laneLegend(trace, index);
    frame.hidden = isEmpty;
    this.node = element("div", "", problem, first, frame, this.#area, last);
    this.scroller.addEventListener("scroll", () => this.repaint(), { passive: true });
    listen(this);
  }

  camera(): Camera {
    const width = Math.max(120, this.node.clientWidth || 720);
    const left = width < 420 ? 88 : width < 700 ? 124 : 160;
    return { range: this.state.range, left, width: width - left };
  }

  show(range: Range): void {
    this.state.range = range;
    this.repaint();
  }

  select(position: number | null, isPinned: boolean): void {
    const { state } = this;
    state.cursor = position;
    state.isPinned = isPinned && position !== null;
    state.arrows = position === null ? [] : arrowsOf(state, position);
    if (position === null) {
      this.#tip.hide();
    } else {
      const span = state.index.span[position] as number;
      this.#scrollTo(position);
      this.stage.say(spanSentence(state.trace, state.columns, span));
    }
    this.repaint();
  }

  hover(position: number | null, x: number, y: number): void {
    const { trace, columns, index, cursor, isPinned } = this.state;
    const shown = position ?? (isPinned ? cursor : null);
    this.canvas.style.cursor = position === null ? "" : "pointer";
    if (shown === null) {
      this.#tip.hide();
      return;
    }
    const span = index.span[shown] as number;
    const note = trace.stages[columns.stage[span] as number]?.note ?? null;
    const facts = spanFacts(trace, columns, span);
    this.#tip.show(titleOf(trace, columns, span), facts, note || null, x, y);
  }

  mark(area: Range | null): void {
    this.state.area = area;
    this.#area.replaceChildren(...(area === null ? [] : [areaPanel(this, area)]));
    this.repaint();
  }

  search(words: string): void {
    const { state } = this;
    state.found = words.trim() === "" ? null : matches(state.trace, state.index, words);
    state.walk = null;
    if (state.found !== null) {
      const found = inTime(state.index, state.found);
      state.walk = found;
      this.stage.say(`${count(found.length)} of ${count(state.index.span.length)} spans match`);
    }
    this.repaint();
  }

  repaint(): void {
    this.#frame.request();
  }

  paint(): void {
    // Asking for computed styles in every frame would cost a tenth of it.
    this.#colours = coloursOf(this.node);
    this.#paint();
  }

  destroy(): void {
    this.#frame.cancel();
  }

  #scrollTo(position: number): void {
    const strip = stripOf(this.state.layout.rows, position);
    const { scrollTop, clientHeight } = this.scroller;
    if (
      strip !== undefined &&
      (strip.y < scrollTop || strip.y + BAR_HEIGHT > scrollTop + clientHeight)
    ) {
      this.scroller.scrollTop = strip.y - clientHeight / 2;
    }
  }

  #paint(): void {
    const { state } = this;
    const camera = this.camera();
    const colours = this.#colours;
    const height = Math.min(MOST_HEIGHT, Math.max(state.layout.height, 1));
    this.#map.paint(state.index, camera, colours);
    const context = fitted(this.canvas, camera.left + camera.width, height);
    const { from, to } = state.range;
    const whole = state.limits.to - state.limits.from;
    const found = state.found === null ? "" : `${count(state.walk?.length ?? 0)} found · `;
    this.#readout.textContent = `${found}${duration(to - from)} of ${duration(whole)}`;
    if (context !== null) {
      const top = this.scroller.scrollTop;
      paintLanes(context, { ...state, colours, camera, top, height });
    }
  }
}

function describe(trace: DrawnTrace, index: Index): string {
  const spans = `${count(index.span.length)} spans on ${count(trace.lanes.length)} lanes`;
  return `${spans} over ${duration(trace.wall_ns)}. Press n for the next span, question mark for all keys; the Table view has the numbers.`;
}
