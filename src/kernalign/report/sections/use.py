"""How to use the model, and how long it takes."""

from __future__ import annotations

from html import escape

from kernalign.report.facts import Facts
from kernalign.report.html import number, paragraphs


def use(facts: Facts) -> str:
    path = str(facts.notes.get("model_path") or "model.kern")
    saved = (
        ""
        if facts.notes.get("model_path")
        else "from kernalign import save\nsave(model, 'model.kern')\n\n"
    )
    lines = f"{saved}from kernalign import load\n\nmodel = load({path!r})\nmodel.predict(X)"
    lines += "\nmodel.predict_proba(X)" if facts.classification else ""
    html = f"<pre><code>{escape(lines)}</code></pre>"
    names = facts.notes.get("columns")
    if names:
        shown = ", ".join(map(str, names[:20])) + (", ..." if len(names) > 20 else "")
        shell = f"kernalign predict {path} new.csv -o predictions.csv"
        html += paragraphs([f"X is a table with the columns {shown}. On the command line:"])
        html += f"<pre><code>{escape(shell)}</code></pre>"
    return html + paragraphs(_times(facts))


def _times(facts: Facts) -> list[str]:
    out = []
    if "fit_seconds" in facts.notes:
        out.append(f"Learning took {number(float(facts.notes['fit_seconds']))} seconds.")
    if facts.seconds_per_thousand is not None:
        out.append(f"A thousand predictions take {number(facts.seconds_per_thousand)} seconds.")
    return out
