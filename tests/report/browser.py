"""A real browser without a window, driven by the command line of Chromium."""

import html
import re
import shutil
import subprocess

import pytest

#: A page that shows another one in a frame of a given width and writes down what came of it.
FRAME = """<!DOCTYPE html><html><body style="margin:0">
<iframe id="frame" style="border:0;width:{width}px;height:900px" srcdoc="{page}"></iframe>
<p id="seen"></p>
<script>
  const frame = document.getElementById("frame");
  frame.onload = () => {{
    const inside = frame.contentDocument;
    const images = [...inside.images];
    const widths = images.map(image => image.naturalWidth).join(" ");
    const empty = images.filter(image => !image.alt).length;
    const wide = [...inside.querySelectorAll("main *")].filter(e =>
      !e.closest(".scroll, pre") && e.getBoundingClientRect().right > {width} + 1).length;
    const letters = parseFloat(frame.contentWindow.getComputedStyle(inside.body).fontSize);
    document.getElementById("seen").textContent = "seen " + JSON.stringify({{
      widths, empty, wide, letters, scroll: inside.documentElement.scrollWidth}});
  }};
</script></body></html>"""


def chromium():
    """The browser, or a skip that says why."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return shutil.which(name)
    pytest.skip("no Chromium here: the page is looked at where 'apt-get install chromium' was run")


def run(folder, *words):
    """Run the browser; returns what it wrote to its two outputs."""
    done = subprocess.run(
        [
            chromium(),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            f"--user-data-dir={folder / 'profile'}",
            "--enable-logging=stderr",
            "--v=0",
            *words,
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.stdout, done.stderr


def console(log):
    """What pages wrote to the console of the browser, errors included."""
    return [line for line in log.splitlines() if ":CONSOLE" in line]


def framed(folder, page, width):
    """What a page looks like in a frame of this width, and the console."""
    import json

    path = folder / f"frame-{width}.html"
    path.write_text(FRAME.format(width=width, page=html.escape(page, quote=True)))
    dom, log = run(folder, "--virtual-time-budget=4000", "--dump-dom", path.as_uri())
    found = re.search(r"seen (\{.*?\})</p>", dom)
    assert found, dom[-500:]
    return json.loads(html.unescape(found[1])), console(log)
