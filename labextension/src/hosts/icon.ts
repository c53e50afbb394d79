/** The icon of files, commands, cell toolbar and side panel: three stages of a waterfall. */

const svgstr = `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16">
<g class="jp-icon3" fill="#616161">
<rect x="1" y="2" width="6" height="3" rx="0.5"/>
<rect x="5" y="6.5" width="7" height="3" rx="0.5"/>
<rect x="10" y="11" width="5" height="3" rx="0.5"/>
</g>
</svg>`;

export const ICON = { name: "jupyter-serprof:waterfall", svgstr };
