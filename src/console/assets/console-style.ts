/** The style of all pages: one column, dense tables, light or dark colours by the setting of the browser. */
export const CONSOLE_STYLE = `:root {
  color-scheme: light dark;
  --page: #f6f7f9;
  --panel: #ffffff;
  --line: #d9dee5;
  --text: #1b2430;
  --soft: #566273;
  --link: #1f5a8c;
  --accent: #2a5f8f;
  --on-accent: #ffffff;
  --focus: #b3541e;
  --handled: #23724a;
  --dead: #b3261e;
  --quarantined: #86540a;
  --unhandled: #6b4fa0;
  --retrying: #1f5a8c;
  --plain: #566273;
  --attention: #fff4e5;
  --problem: #fdecea;
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12161c;
    --panel: #1a2029;
    --line: #313b48;
    --text: #e4e9f0;
    --soft: #a3afbf;
    --link: #8dbfee;
    --accent: #8dbfee;
    --on-accent: #0d1620;
    --focus: #f2a65a;
    --handled: #79cf9f;
    --dead: #ff9a90;
    --quarantined: #f0b95c;
    --unhandled: #c3a9f2;
    --retrying: #8dbfee;
    --plain: #a3afbf;
    --attention: #33291a;
    --problem: #3a1f1f;
  }
}
* { box-sizing: border-box; }
html { background: var(--page); color: var(--text); font-variant-numeric: tabular-nums; }
body { margin: 0; }
a { color: var(--link); text-underline-offset: 0.15em; }
h1 { font-size: 1.35rem; font-weight: 600; margin: 0; line-height: 1.25; overflow-wrap: anywhere; }
h2 { font-size: 1.02rem; font-weight: 600; margin: 0 0 0.5rem; }
p { margin: 0 0 0.75rem; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; border-radius: 3px; }
main:focus { outline: none; }
.skip { position: absolute; left: 0.75rem; top: -4rem; background: var(--panel); padding: 0.5rem 0.75rem; z-index: 2; }
.skip:focus { top: 0.5rem; }

.bar { display: flex; flex-wrap: wrap; align-items: center; gap: 0.25rem 1.25rem; padding: 0.55rem clamp(0.75rem, 2vw, 2rem);
  background: var(--panel); border-bottom: 1px solid var(--line); }
.brand { display: inline-flex; align-items: center; gap: 0.5rem; font-weight: 600; color: var(--text); text-decoration: none; }
.bar nav { display: flex; gap: 0.15rem; flex: 1 1 auto; }
.bar nav a { padding: 0.3rem 0.65rem; border-radius: 6px; text-decoration: none; color: var(--soft); }
.bar nav a:hover { color: var(--text); background: var(--page); }
.bar nav a[aria-current] { color: var(--text); background: var(--page); font-weight: 600; }
.who { margin: 0; display: flex; gap: 0.5rem; align-items: baseline; min-width: 0; }
.who .name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; max-width: 16rem; }
.who .role { color: var(--soft); font-size: 0.85rem; border: 1px solid var(--line); border-radius: 999px; padding: 0 0.5rem; }
.bar form { margin: 0; }

main { max-width: 140rem; margin: 0 auto; padding: 1.1rem clamp(0.75rem, 2vw, 2rem) 3rem; display: grid; gap: 1.1rem; grid-template-columns: minmax(0, 1fr); }
main > p, main > h2 { margin: 0; }
section, form.filters, form.decide, .facts, .lead { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 0.9rem 1rem; margin: 0; min-width: 0; }
.head { display: flex; flex-wrap: wrap; gap: 0.35rem 1rem; align-items: center; justify-content: space-between; }
.head h1 { flex: 0 1 auto; }
.head h2 { margin: 0; }
section > .head { margin-bottom: 0.5rem; }
.note { color: var(--soft); margin: 0; }
@media (scripting: none) { .scripted { display: none; } }
.lead { border-left: 4px solid var(--accent); }
.problem { background: var(--problem); border: 1px solid var(--dead); border-radius: 8px; padding: 0.7rem 1rem; margin: 0; }
time { white-space: nowrap; }
.done { border: 1px solid var(--handled); border-radius: 8px; padding: 0.7rem 1rem; }
.reason { margin: 0; overflow-wrap: anywhere; }
.reason span { color: var(--soft); margin-right: 0.5rem; }
.news { min-height: 1.5rem; margin: 0; }
main > .news { margin: -0.55rem 0; }
.news a { font-weight: 600; }
.mono { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; font-size: 0.88em; }

#live, #entry-head { display: grid; gap: 1.1rem; grid-template-columns: minmax(0, 1fr); }
.tiles { list-style: none; margin: 0; padding: 0; display: grid; gap: 0.6rem; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); }
.tile { display: block; padding: 0.65rem 0.85rem; border: 1px solid var(--line); border-radius: 8px; background: var(--panel);
  text-decoration: none; color: var(--text); border-top: 3px solid var(--plain); }
.tile:hover { border-color: var(--accent); }
.tile .count { display: block; font-size: 1.55rem; line-height: 1.2; font-weight: 600; }
.tile .label { color: var(--soft); }
.tile.handled { border-top-color: var(--handled); }
.tile.dead { border-top-color: var(--dead); }
.tile.quarantined { border-top-color: var(--quarantined); }
.tile.unhandled { border-top-color: var(--unhandled); }
.tile.retrying, .tile.running, .tile.stored { border-top-color: var(--retrying); }
.tile.attention { background: var(--attention); }
.tile.attention .label { color: var(--text); }

.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(19rem, 100%), 1fr)); gap: 0.6rem 1.5rem; }
.facts div { min-width: 0; }
.facts dt { color: var(--soft); font-size: 0.85rem; }
.facts dd { margin: 0; overflow-wrap: anywhere; }

.chart { min-height: 17.6rem; margin: 0.5rem 0; }
.chart .u-legend { font-size: 0.85rem; text-align: left; }
.chart .u-legend th, .chart .u-legend td { border: 0; padding: 0 0.3rem 0 0; }
.chart .u-legend tr:hover > * { background: none; }
.chart .u-marker { forced-color-adjust: none; }
/* The time has no colour. */
.chart .u-series:first-child .u-marker { display: none; }
summary { cursor: pointer; color: var(--soft); }
details[open] summary { margin-bottom: 0.6rem; }
.figures { max-height: 20rem; overflow: auto; }

.switch { list-style: none; display: flex; margin: 0; padding: 0; border: 1px solid var(--line); border-radius: 6px; overflow: hidden; }
.switch a { display: block; padding: 0.2rem 0.75rem; text-decoration: none; }
.switch li + li a { border-left: 1px solid var(--line); }
.switch a[aria-current] { background: var(--accent); color: var(--on-accent); font-weight: 600; }
.switch a:focus-visible { outline-offset: -3px; }

.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: baseline; padding: 0.34rem 0.75rem 0.34rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; font-weight: 400; }
th:last-child, td:last-child { padding-right: 0; }
thead th { color: var(--soft); font-size: 0.85rem; }
tbody tr:last-child > * { border-bottom: 0; }
tbody tr:hover > * { background: color-mix(in srgb, var(--accent) 7%, transparent); }
.number { text-align: right; }
td.text { white-space: pre-wrap; overflow-wrap: anywhere; min-width: 14rem; }
td.clip { max-width: clamp(12.5rem, 14vw, 26rem); overflow: hidden; text-overflow: ellipsis; }
td.clip.key { max-width: 20rem; }
td.clip.short { max-width: clamp(7.5rem, 12vw, 21rem); }
/* Takes the room that the other columns leave. */
td.clip.wide { max-width: 0; min-width: 10rem; width: 99%; }
.entries { font-size: 0.93rem; }
.more { margin: 0.6rem 0 0; }
.state { display: inline-block; padding: 0 0.5rem; border-radius: 999px; border: 1px solid currentColor; font-size: 0.85rem; line-height: 1.35rem; color: var(--plain); white-space: nowrap; }
.state.handled { color: var(--handled); }
.state.dead { color: var(--dead); }
.state.quarantined { color: var(--quarantined); }
.state.unhandled { color: var(--unhandled); }
.state.retrying, .state.running, .state.stored { color: var(--retrying); }

form.filters { display: grid; gap: 0.7rem 1rem; grid-template-columns: repeat(auto-fill, minmax(min(14rem, 100%), 1fr)); align-items: end; }
fieldset { border: 0; margin: 0; padding: 0; min-width: 0; }
.states { grid-column: 1 / -1; display: flex; flex-wrap: wrap; gap: 0.3rem 1.1rem; }
legend, .field span { color: var(--soft); font-size: 0.85rem; padding: 0; }
.states legend { float: left; margin-right: 1.1rem; }
.states label, .check { display: inline-flex; gap: 0.4rem; align-items: center; }
.field { display: grid; gap: 0.2rem; min-width: 0; }
input { font: inherit; color: inherit; accent-color: var(--accent); }
input:not([type="checkbox"]) { width: 100%; min-width: 0; padding: 0.36rem 0.55rem; background: var(--page); border: 1px solid var(--soft); border-radius: 6px; }
.buttons { display: flex; flex-wrap: wrap; gap: 0.6rem 1rem; align-items: center; }
button, a.button { font: inherit; font-weight: 600; padding: 0.36rem 0.95rem; border-radius: 6px; border: 1px solid var(--accent); background: var(--accent); color: var(--on-accent); cursor: pointer; text-decoration: none; display: inline-block; }
button[hidden] { display: none; }
button:hover, a.button:hover { filter: brightness(1.12); }
button.danger { background: transparent; color: var(--dead); border-color: var(--dead); }
button.quiet, a.button { background: transparent; color: var(--link); border-color: var(--line); font-weight: 400; }
form.decide { display: grid; gap: 0.7rem; }
form.decide .field { max-width: 44rem; }
.actions { list-style: none; display: flex; flex-wrap: wrap; gap: 0.6rem; margin: 0.6rem 0 0; padding: 0; }
.pages { display: flex; gap: 1.25rem; }
pre.payload { margin: 0.6rem 0 0; padding: 0.75rem; background: var(--page); border: 1px solid var(--line); border-radius: 6px; overflow: auto; max-height: 32rem;
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; font-size: 0.86rem; line-height: 1.5; white-space: pre-wrap; overflow-wrap: anywhere; }
.sign-in { width: min(24rem, 100%); margin: 8vh auto 0; background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 1.4rem; display: grid; gap: 0.9rem; }
/* The list is wider than the page, and is scrolled. */
@media (max-width: 70rem) {
  td.clip.wide { min-width: 24rem; }
}
@media (max-width: 34rem) {
  .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  section, form.filters, form.decide, .facts, .lead { padding: 0.75rem; }
  form.filters { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0.5rem 0.7rem; }
  form.filters .field:has([name="reason"], [type="datetime-local"]) { grid-column: 1 / -1; }
  /* The legend has two lines. */
  .chart { min-height: 19rem; }
  .bar { column-gap: 0.6rem; }
  .bar nav { order: 3; }
  .bar nav a { padding: 0.3rem 0.4rem; }
  .bar form { order: 4; }
  .bar button { padding: 0.2rem 0.5rem; }
  .who { flex: 1 1 0; justify-content: end; gap: 0.35rem; font-size: 0.9rem; }
  /* The text is below the other cells of its row. Beside them it would be out of sight, in a high row that looks empty. */
  .stacked thead { position: absolute; clip-path: inset(50%); }
  .stacked tr { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0.1rem 0.75rem; padding: 0.34rem 0; border-bottom: 1px solid var(--line); }
  .stacked tbody tr:last-child { border-bottom: 0; }
  .stacked tbody tr > * { padding: 0; border-bottom: 0; white-space: normal; overflow-wrap: anywhere; }
  .stacked td[data-label]::before { content: attr(data-label) " "; color: var(--soft); }
  .stacked td.text { flex: 1 0 100%; min-width: 0; white-space: pre-wrap; }
}
@media print {
  .scroll, pre.payload { max-height: none; overflow: visible; }
}
@media (prefers-reduced-motion: no-preference) {
  .tile, button, a.button { transition: border-color 120ms, filter 120ms; }
}
`
