/** The time axis keeps its part of a table: columns leave one after the other until it has it. */

const LEAVING = ["faults", "memcpy", "rate", "bytes", "busy", "lane", "share"];
/** Of the whole output, and px at any width. */
const [LEAST_SHARE, LEAST_PX] = [0.45, 120];

/** Called again when the width has changed; the style sheet hides what has left. */
export function fitColumns(node: HTMLElement): void {
  const axis = node.querySelector<HTMLElement>(".jsp-axis");
  const least = Math.max(LEAST_PX, LEAST_SHARE * (node.closest(".jsp-root") ?? node).clientWidth);
  for (let count = 0; axis !== null && count <= LEAVING.length; count += 1) {
    node.dataset.left = LEAVING.slice(0, count).join(" ");
    if (axis.offsetWidth >= least || node.clientWidth === 0) {
      return;
    }
  }
}
