# SPDX-License-Identifier: MIT
"""style.py - the page's style sheet, and the policy that lets the page load nothing else"""
import base64
import hashlib

LIGHT = """--back:#fff;--soft:#f6f7f8;--line:#dcdfe3;--text:#1c2126;--dim:#59626c;--link:#1a55a0;
--good:#166534;--good-back:#e7f4ea;--warn:#854d0e;--warn-back:#fbf2dc;--bad:#a11d1d;--bad-back:#fbe9e8;
--note:#414b55;--note-back:#eceff2;--wall:#a9c3e2;--cpu:#2c62a6;--mem:#5f9a86;--mark:#8a3ffc;"""
DARK = """--back:#14171a;--soft:#1c2024;--line:#363d44;--text:#e4e7ea;--dim:#a2abb4;--link:#8ab8f2;
--good:#86d69b;--good-back:#16301e;--warn:#e9c46a;--warn-back:#352a10;--bad:#f2a19b;--bad-back:#3d1c1b;
--note:#c3cbd3;--note-back:#282e34;--wall:#3c5778;--cpu:#84b2ec;--mem:#6fb59d;--mark:#c9a2ff;"""

SHEET = f""":root{{color-scheme:light dark;{LIGHT}}}
@media (prefers-color-scheme:dark){{:root{{{DARK}}}}}""" + """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--back);color:var(--text);font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
"Noto Sans","Liberation Sans",sans-serif;overflow-wrap:anywhere}
header,main,footer{max-width:58rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:2.5rem}
footer{padding-top:1.5rem;padding-bottom:3rem;color:var(--dim);font-size:.875rem}
h1,h2,h3,h4,p,ul,dl,pre,figure{margin:0}
h1{font-size:1.5rem;line-height:1.3;font-weight:650}
h2{font-size:1.2rem;line-height:1.3;font-weight:650;margin:2.75rem 0 .9rem;padding-bottom:.35rem;
border-bottom:1px solid var(--line)}
h3{font-size:1.05rem;font-weight:650;display:flex;flex-wrap:wrap;gap:.3rem .6rem;align-items:center}
h4{font-size:.8125rem;font-weight:600;color:var(--dim);margin:1rem 0 .3rem}
a{color:var(--link);text-underline-offset:.15em}
a:focus-visible,summary:focus-visible,[tabindex]:focus-visible{outline:2px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:.5rem;background:var(--back);padding:.3rem .6rem}
.kind{color:var(--dim);font-size:.875rem;margin-bottom:.35rem}
.badges{display:flex;flex-wrap:wrap;gap:.4rem;margin:.9rem 0 0;padding:0;list-style:none}
.badge{display:inline-block;font-size:.8125rem;font-weight:600;line-height:1.4;padding:.12rem .6rem;
border-radius:1rem;color:var(--note);background:var(--note-back)}
.good{color:var(--good);background:var(--good-back)}
.warn{color:var(--warn);background:var(--warn-back)}
.bad{color:var(--bad);background:var(--bad-back)}
.banner{margin:1.5rem 0 0;padding:.8rem 1rem;border-radius:.4rem;border-left:4px solid currentColor}
.banner p{color:var(--text)}
.banner strong{display:block}
.text,pre{white-space:pre-wrap;unicode-bidi:isolate;direction:ltr;overflow:hidden}
pre{font:.8125rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;
background:var(--soft);border-radius:.35rem;padding:.65rem .8rem;tab-size:4}
pre.code{border-left:3px solid var(--cpu);border-radius:0 .35rem .35rem 0}
pre.err{border-left:3px solid var(--bad);border-radius:0 .35rem .35rem 0}
pre.prose{font:inherit;background:none;padding:0}
pre+.gap,.gap+pre{margin-top:.3rem}
pre.answer{font:inherit;background:var(--good-back);padding:1rem 1.15rem}
.gap,.small{font-size:.875rem;color:var(--dim)}
b.u{font-weight:400;color:var(--mark)}
.step{padding:1.4rem 0;border-top:1px solid var(--line)}
.step:first-of-type,.entry+.step:first-child{border-top:0;padding-top:.4rem}
.words{margin-top:.3rem}
.facts{color:var(--dim);font-size:.875rem;margin-top:.15rem}
.prose{margin-top:.7rem}
.entry{padding:.8rem 0;border-top:1px solid var(--line)}
.grid2{display:grid;grid-template-columns:9rem 1fr;gap:.3rem 1rem}
.grid2 dt{color:var(--dim)}
.grid2 dd{margin:0;min-width:0}
@media (max-width:34rem){.grid2{grid-template-columns:1fr;gap:0}.grid2 dd{margin-bottom:.5rem}
header,main,footer{padding-left:1rem;padding-right:1rem}}
.wide{overflow-x:auto;margin-top:.8rem}
table{overflow-wrap:break-word;border-collapse:collapse;width:100%;font-size:.875rem}
caption{text-align:left;color:var(--dim);font-size:.8125rem;padding-bottom:.3rem}
th,td{text-align:left;vertical-align:baseline;padding:.3rem 1rem .3rem 0;border-bottom:1px solid var(--line)}
td:last-child,th:last-child{padding-right:0}
thead th{color:var(--dim);font-weight:600;white-space:nowrap}
tbody th{font-weight:400}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.mono{font:.8125rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.nw,td .badge{white-space:nowrap}
#posture h3{margin:1.5rem 0 .4rem}
#posture ul{padding-left:1.25rem}
#integrity .small,footer{margin-top:1rem}
.small{margin-top:.8rem}
.walls th{width:9rem}
details{margin-top:.8rem}
summary{cursor:pointer;color:var(--dim);font-size:.875rem}
details>:not(summary){margin-top:.5rem}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,19rem),1fr));gap:1.25rem;margin-top:1.25rem}
svg{display:block;width:100%;height:auto}
svg .grid{stroke:var(--line);stroke-width:1}
svg .axis{fill:var(--dim);font:12px system-ui,sans-serif}
figcaption{color:var(--dim);font-size:.8125rem;margin-top:.3rem}
.key{display:inline-block;width:.65rem;height:.65rem;border-radius:2px;margin-left:.6rem}
.key:first-child{margin-left:0}
.wall{fill:var(--wall)}i.wall{background:var(--wall)}
.cpu{fill:var(--cpu)}i.cpu{background:var(--cpu)}
.mem{fill:var(--mem)}i.mem{background:var(--mem)}
.shown{margin-top:.8rem}
.shown img{display:block;max-width:100%;height:auto;background:#fff;border-radius:.35rem}
@page{margin:16mm 15mm}
@media print{:root{color-scheme:light;""" + LIGHT + """}
body{font-size:10pt}pre{font-size:8.5pt}pre:not(.prose){border:1px solid var(--line)}
header,main,footer{max-width:none;padding:0}.skip{display:none}header{padding-top:0}
h2,h3,h4,summary{break-after:avoid}figure,tr,.wide,.banner{break-inside:avoid}.charts{grid-template-columns:1fr 1fr}
.wide{overflow:visible}table{overflow-wrap:anywhere}a{color:inherit;text-decoration:none}
.badge,.banner,i,rect,pre{print-color-adjust:exact;-webkit-print-color-adjust:exact}
details:not(.raw)::details-content{content-visibility:visible;block-size:auto}}
"""

POLICY = ("default-src 'none'; style-src 'sha256-" + base64.b64encode(hashlib.sha256(SHEET.encode()).digest()).decode()
          + "'; img-src data:; base-uri 'none'; form-action 'none'")
