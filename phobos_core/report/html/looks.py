"""How the page looks: in the colours that the reader's system asks for, light or dark, and on paper."""

STYLE = """
:root {
  color-scheme: light dark;
  --text: #1c2128; --faint: #59636e; --ground: #ffffff; --raised: #f4f6f8; --edge: #d1d9e0;
  --tile: #b6d4f5; --tile-edge: #2c6cb0; --error: #b3202c; --warning: #8a5a00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --text: #e3e8ee; --faint: #9aa5b1; --ground: #14181d; --raised: #1e242b; --edge: #3a424c;
    --tile: #24486f; --tile-edge: #7fb4ee; --error: #ff8f8f; --warning: #e8b95c;
  }
}
body { margin: 0 auto; padding: 1rem 1.5rem 4rem; max-width: 76rem; color: var(--text); background: var(--ground);
  font: 0.9375rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin: 2rem 0 0.5rem; } h4 { margin: 1.2rem 0 0.3rem; }
small, .mark, dt, th { color: var(--faint); }
a { color: inherit; }
code, pre, small, td, dd, summary, svg { font-family: ui-monospace, monospace; font-size: 0.8125rem; }
code { white-space: pre; tab-size: 2; }
pre { overflow-x: auto; padding: 0.6rem 0.8rem; background: var(--raised); border-left: 3px solid var(--edge); }
pre.error { border-color: var(--error); } pre.warning { border-color: var(--warning); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.1rem 1rem; margin: 0.6rem 0; }
dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; min-width: 40rem; }
th, td { text-align: left; vertical-align: top; padding: 0.2rem 0.8rem 0.2rem 0; border-bottom: 1px solid var(--edge); }
th { font-weight: 600; font-size: 0.8125rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
meter { width: 5rem; }
details { margin: 0.6rem 0; padding: 0.4rem 0.9rem; border: 1px solid var(--edge); border-radius: 0.4rem; }
details:target { border-color: var(--tile-edge); }
summary { cursor: pointer; font-weight: 600; }
.source { width: 100%; }
.source td { border-bottom: 0; padding-top: 0; padding-bottom: 0; }
.source ul { margin: 0 0 0.3rem; padding-left: 2rem; color: var(--faint); font-family: system-ui, sans-serif; }
.source tbody tr:hover { background: var(--raised); }
.gap td { color: var(--faint); }
figure { margin: 1rem 0; max-width: 48rem; } figcaption { color: var(--faint); font-size: 0.8125rem; }
svg { width: 100%; height: auto; font-size: 12px; }
svg text { fill: var(--text); } svg .mark { fill: var(--faint); }
svg rect { fill: var(--tile); fill-opacity: 0.75; stroke: var(--tile-edge); } svg line { stroke: var(--edge); }
@media print { details { border: 0; } body { max-width: none; } }
"""
